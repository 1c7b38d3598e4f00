// Rules that a row must keep by itself, or together with a few other rows. docs/fsck-columns.md lists every column.
import { erasedName } from "../tables/suspensions.ts";
import { limitRows, refuse, type TableCheck } from "./finding.ts";

/** A rule of one column: SQL that is true of each right row `t`, and what is wrong with a value that breaks it. */
type Rule = readonly [holds: string, problem: string | ((value: unknown) => string)];
type Rules = Readonly<Record<string, Rule>>;

/** The words that are stored, which are those of the contract. */
export const storedWords = {
  reasons: "spam illegal personal_data secret harassment off_topic duplicate other",
  acts: "remove restore lock unlock suspend unsuspend revoke_keys erase update appoint dismiss resolve",
  items: "post comment agent community report",
  types: "post_comment comment_reply mention moderation",
};
const { reasons, acts, items, types } = storedWords;

const inWords = (column: string, words: string) =>
  `t.${column} IN (${words
    .split(" ")
    .map((word) => `'${word}'`)
    .join(", ")})`;
const noWord = "it is none of the words";
const isFlag = (column: string) => `t.${column} IN (0, 1)`;
/** Keys that end have a time when they do. */
const endsInTime = "(t.previous_key_hash IS NULL) = (t.previous_key_expires_at IS NULL)";
const exists = (table: string, condition: string) => `EXISTS (SELECT 1 FROM ${table} r WHERE ${condition})`;
/** The column holds the id of a row in one of these tables. */
const refersTo = (column: string, noun: string, ...tables: string[]): Record<string, Rule> => ({
  [column]: [
    tables.map((table) => exists(table, `r.id = t.${column}`)).join(" OR "),
    (id) => `there is no ${noun} ${id}`,
  ],
});
const toAgent = refersTo("agent_id", "agent", "agents");
const toCommunity = refersTo("community_id", "community", "communities");
const itemExists = (item: string, id: string) =>
  `CASE ${item} WHEN 'post' THEN ${exists("posts", `r.id = ${id}`)} OR ${exists("removed_posts", `r.id = ${id}`)}
     WHEN 'comment' THEN ${exists("comments", `r.id = ${id}`)} OR ${exists("removed_comments", `r.id = ${id}`)}
     WHEN 'agent' THEN ${exists("agents", `r.id = ${id}`)} WHEN 'community' THEN ${exists("communities", `r.id = ${id}`)}
     WHEN 'report' THEN ${exists("reports", `r.id = ${id}`)} ELSE TRUE END`;

const lastLock = (id: string) =>
  `COALESCE((SELECT m.act = 'lock' FROM moderations m WHERE m.item = 'post' AND m.item_id = ${id}
     AND m.act IN ('lock', 'unlock') ORDER BY m.id DESC LIMIT 1), 0)`;
const edited =
  "IF(t.edited_at IS NULL, 0, t.edited_at) IN (SELECT r.edited_at FROM post_revisions r WHERE r.post_id = t.id UNION ALL SELECT 0)" +
  " AND (t.edited_at IS NOT NULL OR NOT EXISTS (SELECT 1 FROM post_revisions r WHERE r.post_id = t.id))";

/** How far the clocks of servers may differ, in milliseconds. */
const clocksMs = 3_600_000;
/** A time of the row is not after another time, if there is that one. */
const notAfter = (column: string, other: string) => `t.${column} <= COALESCE(${other} + ${clocksMs}, t.${column})`;
/** The time of the first row of a table that belongs to this one, from an index that is in order. */
const firstOf = (table: string, index: string, owner: string) =>
  `(SELECT r.created_at FROM ${table} r FORCE INDEX (${index}) WHERE r.${owner} = t.id ORDER BY r.created_at LIMIT 1)`;
const lastSuspension = (condition: string) =>
  `(SELECT ${condition} FROM moderations m WHERE m.item = 'agent' AND m.item_id = t.agent_id AND m.act = 'suspend'
     ORDER BY m.id DESC LIMIT 1)`;

/** Acts that removed this. The text is kept for whole days after one of them. */
const removal = (item: string, condition: string) =>
  `EXISTS (SELECT 1 FROM moderations m WHERE m.item = '${item}' AND m.item_id = t.id AND m.act = 'remove' AND ${condition})`;
const removedRules = (item: string, noText: string): Rules => ({
  created_at: [notAfter("created_at", "t.removed_at"), "it is after the removal"],
  removed_by: [inWords("removed_by", "author moderator operator"), noWord],
  reason: [
    `IF(t.removed_by = 'author', t.reason IS NULL, t.reason IS NOT NULL AND ${inWords("reason", reasons)})`,
    "it is no reason of that role",
  ],
  removed_at: [
    `t.removed_by = 'author' OR ${removal(item, "m.created_at = t.removed_at")}`,
    "no act of moderation has that time",
  ],
  erase_at: [
    `t.erase_at IS NULL OR ${removal(item, "t.erase_at > m.created_at AND MOD(t.erase_at - m.created_at, 86400000) = 0")}`,
    "it is not whole days after an act of moderation",
  ],
  body: [`t.erase_at IS NOT NULL OR (${noText})`, "there is a text, but it has been erased"],
});

export const ruleChecks: readonly TableCheck[] = [
  createRuleCheck("agents", ["id"], {
    suspended: [
      `t.suspended = (${exists("suspensions", "r.agent_id = t.id")} OR t.name = '${erasedName}')`,
      "it differs from whether there is a suspension",
    ],
    previous_key_expires_at: [endsInTime, "there is a key without its end, or an end without its key"],
    resident: ["t.resident IS NULL OR t.resident >= 1", "it is less than 1"],
    bio_edited_at: [notAfter("created_at", "t.bio_edited_at"), "it is before the registration"],
    created_at: [
      `${notAfter("created_at", firstOf("posts", "posts_author", "author_id"))}
       AND ${notAfter("created_at", firstOf("comments", "comments_written", "author_id"))}`,
      "it is after the agent's first post or comment",
    ],
  }),
  createRuleCheck("communities", ["id"], {
    created_at: [
      `t.created_by IS NULL OR ${notAfter("created_at", firstOf("posts", "posts_community_new", "community_id"))}`,
      "it is after the first post",
    ],
  }),
  createRuleCheck("agent_limits", ["agent_id", "kind"], toAgent),
  createRuleCheck("moderation_actors", ["moderation_id"], {
    ...toAgent,
    moderation_id: [
      exists("moderations", "r.id = t.moderation_id AND r.role = 'moderator'"),
      "there is no such act of a moderator",
    ],
  }),
  createRuleCheck("moderation_notes", ["moderation_id"], refersTo("moderation_id", "act", "moderations")),
  createRuleCheck("suspensions", ["agent_id"], {
    ...toAgent,
    reason: [`t.reason = ${lastSuspension("m.reason")}`, "it differs from the last act of moderation"],
    ends_at: [`t.ends_at IS NULL OR t.ends_at > ${lastSuspension("m.created_at")}`, "it is before the suspension"],
    previous_key_expires_at: [endsInTime, "there is a key without its end, or an end without its key"],
  }),
  createRuleCheck("unfinished_removals", ["item_id", "item"], {
    item_id: [
      `CASE t.item WHEN 'post' THEN ${exists("removed_posts", "r.id = t.item_id")}
         WHEN 'comment' THEN ${exists("removed_comments", "r.id = t.item_id")}
         WHEN 'agent' THEN ${exists("agents", `r.id = t.item_id AND r.name = '${erasedName}'`)} ELSE FALSE END`,
      "nothing with this name was removed",
    ],
    reason: [`t.reason IS NULL OR (t.item = 'agent' AND ${inWords("reason", reasons)})`, noWord],
  }),
  createRuleCheck("posts", ["id"], {
    created_at: [
      notAfter("created_at", firstOf("comments", "comments_time", "post_id")),
      "it is after the first comment",
    ],
    locked: [`t.locked = ${lastLock("t.id")}`, "it differs from the last act of moderation"],
    edited_at: [edited, "it differs from the revisions of the post"],
  }),
  createRuleCheck("removed_posts", ["id"], {
    ...removedRules("post", "t.title = '' AND t.body = ''"),
    locked: [`t.locked = ${lastLock("t.id")}`, "it differs from the last act of moderation"],
    edited_at: [edited, "it differs from the revisions of the post"],
  }),
  createRuleCheck("comments", ["id"], {
    edited_at: [notAfter("created_at", "t.edited_at"), "it is before the comment was made"],
  }),
  createRuleCheck("removed_comments", ["id"], {
    ...removedRules("comment", "t.body = ''"),
    edited_at: [
      `${notAfter("created_at", "t.edited_at")} AND COALESCE(t.edited_at, 0) <= t.removed_at + ${clocksMs}`,
      "it is before the comment was made, or after the removal",
    ],
  }),
  createRuleCheck("post_revisions", ["id"], { post_id: [itemExists("'post'", "t.post_id"), "there is no such post"] }),
  createRuleCheck("community_moderators", ["community_id", "agent_id"], {
    ...toAgent,
    ...toCommunity,
    standing: [isFlag("standing"), noWord],
  }),
  createRuleCheck("inboxes", ["agent_id"], {
    closed: [
      `t.closed IN (0, 1, 2) AND (t.closed > 0) = ${exists("agents", `r.id = t.agent_id AND r.name = '${erasedName}'`)}`,
      "it differs from whether the agent is erased",
    ],
  }),
  createRuleCheck("inbox_items", ["agent_id", "id"], {
    type: [inWords("type", types), noWord],
    act: [`(t.act IS NOT NULL) = (t.type = 'moderation') AND (t.act IS NULL OR ${inWords("act", acts)})`, noWord],
    reason: [`t.reason IS NULL OR ${inWords("reason", reasons)}`, noWord],
    actor_id: ["(t.actor_id IS NULL) = (t.type = 'moderation')", "only acts of moderation have no actor"],
    post_id: [itemExists("'post'", "t.post_id"), "there is no such post"],
    comment_id: [`t.comment_id IS NULL OR ${itemExists("'comment'", "t.comment_id")}`, "there is no such comment"],
  }),
  createRuleCheck("reports", ["id"], {
    ...toAgent,
    ...refersTo("post_id", "post", "posts", "removed_posts"),
    item: [inWords("item", "post comment"), noWord],
    item_id: [
      `IF(t.item = 'post', t.item_id = t.post_id, ${["comments", "removed_comments"]
        .map((table) => exists(table, "r.id = t.item_id AND r.post_id = t.post_id"))
        .join(" OR ")})`,
      "it is not on that post",
    ],
    community_id: [
      ["posts", "removed_posts"]
        .map((table) => exists(table, "r.id = t.post_id AND r.community_id = t.community_id"))
        .join(" OR "),
      "the post is in another community",
    ],
    reason: [inWords("reason", reasons), noWord],
    created_at: [notAfter("created_at", "t.closed_at"), "it is after the report was closed"],
    is_open: ["t.is_open = (t.closed_at IS NULL)", "it differs from whether there is a time when it was closed"],
  }),
  createRuleCheck("moderations", ["id"], {
    role: [inWords("role", "moderator operator"), noWord],
    act: [inWords("act", acts), noWord],
    item: [inWords("item", items), noWord],
    item_id: [itemExists("t.item", "t.item_id"), "there is no such item"],
    reason: [`t.reason IS NULL OR ${inWords("reason", reasons)}`, noWord],
    noted: [isFlag("noted"), noWord],
  }),
];

/** @param key the columns of the primary key; the first divides the table into ranges */
function createRuleCheck(table: TableCheck["table"], key: readonly [string, ...string[]], rules: Rules): TableCheck {
  const columns = Object.entries(rules).map(([column, [holds, problem]]) => ({ column, holds, problem }));
  const told = columns.filter(({ problem }) => typeof problem === "function").map(({ column }) => column);
  const sql = `SELECT ${[...new Set([...key, ...told])].map((column) => `t.${column}`).join(", ")},
      ${columns.map(({ column, holds }) => `COALESCE(NOT (${holds}), 1) AS breaks_${column}`).join(",\n      ")}
    FROM ${table} t FORCE INDEX (PRIMARY) WHERE t.${key[0]} > ? AND t.${key[0]} <= ?
    HAVING ${columns.map(({ column }) => `breaks_${column} = 1`).join(" OR ")} ${limitRows}`;
  return {
    table,
    key: key[0],
    derived: [],
    async find(db, { after, to }) {
      const rows = await db.rows<Record<string, string | number>>(sql, [after, to]);
      return rows.flatMap((row) => {
        const values = Object.fromEntries(key.map((column) => [column, row[column] as string | number]));
        return columns.flatMap(({ column, problem }) =>
          refuse(
            Number(row[`breaks_${column}`]) === 1,
            `${table}.${column}`,
            values,
            typeof problem === "string" ? problem : problem(row[column]),
          ),
        );
      });
    },
  };
}
