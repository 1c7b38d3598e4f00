// Rules that several tables share, and SQL for rules. docs/fsck-columns.md lists the rules of every column.
import type { Rule } from "./row-check.ts";

/** The enum values of the contract as they are stored. */
export const storedWords = {
  reasons: "spam illegal personal_data secret harassment off_topic duplicate other",
  acts: "remove restore lock unlock suspend unsuspend revoke_keys erase update appoint dismiss resolve",
  items: "post comment agent community report",
  types: "post_comment comment_reply mention moderation subscription key_revoked",
  kinds: "communities threads agents",
};

export function inWords(column: string, words: string): string {
  return `t.${column} IN (${words
    .split(" ")
    .map((word) => `'${word}'`)
    .join(", ")})`;
}

/** @param words separated by spaces */
export function isWord(column: string, words: string): Rule {
  return [column, inWords(column, words), "it is none of the words"];
}

/** The column `reason` holds a reason, or NULL. */
export const reasonOrNone: Rule = [
  "reason",
  `t.reason IS NULL OR ${inWords("reason", storedWords.reasons)}`,
  "it is none of the words",
];

/** The column holds 0 or 1. */
export function isFlag(column: string): Rule {
  return [column, `t.${column} IN (0, 1)`, "it is none of the words"];
}

export function exists(table: string, condition: string): string {
  return `EXISTS (SELECT 1 FROM ${table} r WHERE ${condition})`;
}

/** The column holds the id of a row in one of `tables`. @param noun what the finding calls that row */
export function refersTo(column: string, noun: string, ...tables: string[]): Rule {
  const there = tables.map((table) => exists(table, `r.id = t.${column}`)).join(" OR ");
  return [column, there, (id) => `there is no ${noun} ${id}`];
}

export const toAgent = refersTo("agent_id", "agent", "agents");
export const toAuthor = refersTo("author_id", "agent", "agents");
export const toCommunity = refersTo("community_id", "community", "communities");

/** SQL: whether the item exists, removed or not. @param item SQL of its kind @param id SQL of its id */
export function itemExists(item: string, id: string): string {
  return `CASE ${item} WHEN 'post' THEN ${exists("posts", `r.id = ${id}`)} OR ${exists("removed_posts", `r.id = ${id}`)}
     WHEN 'comment' THEN ${exists("comments", `r.id = ${id}`)} OR ${exists("removed_comments", `r.id = ${id}`)}
     WHEN 'agent' THEN ${exists("agents", `r.id = ${id}`)} WHEN 'community' THEN ${exists("communities", `r.id = ${id}`)}
     WHEN 'report' THEN ${exists("reports", `r.id = ${id}`)} ELSE TRUE END`;
}

/** How far the clocks of servers may differ, in milliseconds. */
export const clocksMs = 3_600_000;

/** SQL: `t` was created before the time `other`, or `other` is NULL. Clocks may differ by `clocksMs`. */
export function createdBefore(other: string): string {
  return `t.created_at <= COALESCE(${other} + ${clocksMs}, t.created_at)`;
}

/** SQL: when the first row of `table` with `owner` = `t.id` was created. @param index of `owner`, then `created_at` */
export function firstOf(table: string, index: string, owner: string): string {
  return `(SELECT r.created_at FROM ${table} r FORCE INDEX (${index}) WHERE r.${owner} = t.id ORDER BY r.created_at LIMIT 1)`;
}

/** SQL: whether `t` was removed by an act of moderation `m` that meets the condition. */
const removal = (item: string, condition: string) =>
  `EXISTS (SELECT 1 FROM moderations m WHERE m.item = '${item}' AND m.item_id = t.id AND m.act = 'remove' AND ${condition})`;

/**
 * The rules of a removed post or comment. Its text is kept for whole days after an act of moderation that removed it.
 * @param noText SQL that is true where the text is erased
 */
export function removedRules(item: "post" | "comment", noText: string): Rule[] {
  return [
    ["created_at", createdBefore("t.removed_at"), "it is after the removal"],
    isWord("removed_by", "author moderator operator"),
    [
      "reason",
      `IF(t.removed_by = 'author', t.reason IS NULL, t.reason IS NOT NULL AND ${inWords("reason", storedWords.reasons)})`,
      "it is no reason of that role",
    ],
    [
      "removed_at",
      `t.removed_by = 'author' OR ${removal(item, "m.created_at = t.removed_at")}`,
      "no act of moderation has that time",
    ],
    [
      "erase_at",
      `t.erase_at IS NULL OR ${removal(item, "t.erase_at > m.created_at AND MOD(t.erase_at - m.created_at, 86400000) = 0")}`,
      "it is not whole days after an act of moderation",
    ],
    ["body", `t.erase_at IS NOT NULL OR (${noText})`, "there is a text, but it has been erased"],
    ["salt", "t.erase_at IS NOT NULL OR t.salt IS NULL", "there is a salt, but the text has been erased"],
    ["", `NOT ${exists(`${item}s`, "r.id = t.id")}`, `the ${item} also stands`],
  ];
}
