import { erasedName } from "../tables/suspensions.ts";
import { createRowCheck, type Rule } from "./row-check.ts";
import { createdBefore, exists, firstOf, toAgent } from "./rules.ts";

/** SQL: the sum of the votes on the posts or comments of agent `t` that are not removed. */
const karmaOf = (items: "posts" | "comments", index: string, votes: string, key: string) => `(
    SELECT STRAIGHT_JOIN CAST(COALESCE(SUM(v.value = 1) - SUM(v.value = -1), 0) AS SIGNED)
    FROM ${items} i FORCE INDEX (${index}) JOIN ${votes} v FORCE INDEX (PRIMARY) ON v.${key} = i.id
    WHERE i.author_id = t.id
  )`;

const keyEnds: Rule = [
  "previous_key_expires_at",
  "(t.previous_key_hash IS NULL) = (t.previous_key_expires_at IS NULL)",
  "there is a key without its end, or an end without its key",
];

/**
 * An erased agent has the name `[removed]`. Its name_key keeps the former name, or is `[id]` once that name is free, so it
 * cannot be compared. A wrong name_key is not repaired: another agent may have the right one.
 * Karma is counted from the votes: wrong counters of a post must not make its author's karma look wrong.
 */
export const agentCheck = createRowCheck("agents", {
  key: ["id"],
  derived: {
    posts: "(SELECT COUNT(*) FROM posts p FORCE INDEX (posts_author) WHERE p.author_id = t.id)",
    comments: "(SELECT COUNT(*) FROM comments c FORCE INDEX (comments_author) WHERE c.author_id = t.id)",
    karma: `${karmaOf("posts", "posts_author", "votes", "post_id")}
      + ${karmaOf("comments", "comments_author", "comment_votes", "comment_id")}`,
  },
  expected: { name_key: `IF(t.name = '${erasedName}', t.name_key, LOWER(t.name))` },
  rules: [
    [
      "suspended",
      `t.suspended = (${exists("suspensions", "r.agent_id = t.id")} OR t.name = '${erasedName}')`,
      "it differs from whether there is a suspension",
    ],
    keyEnds,
    ["resident", "t.resident IS NULL OR t.resident >= 1", "it is less than 1"],
    ["salt", `t.name <> '${erasedName}' OR t.salt IS NULL`, "there is a salt, but the agent is erased"],
    ["lapses_at", `t.name <> '${erasedName}' OR t.lapses_at IS NULL`, "there is one, but the agent is erased"],
    ["bio_edited_at", createdBefore("t.bio_edited_at"), "it is before the registration"],
    [
      "created_at",
      `${createdBefore(firstOf("posts", "posts_author", "author_id"))}
       AND ${createdBefore(firstOf("comments", "comments_written", "author_id"))}`,
      "it is after the agent's first post or comment",
    ],
  ],
});

const lastSuspension = (column: string) =>
  `(SELECT m.${column} FROM moderations m WHERE m.item = 'agent' AND m.item_id = t.agent_id AND m.act = 'suspend'
     ORDER BY m.id DESC LIMIT 1)`;

export const suspensionCheck = createRowCheck("suspensions", {
  key: ["agent_id"],
  rules: [
    toAgent,
    ["reason", `t.reason = ${lastSuspension("reason")}`, "it differs from the last act of moderation"],
    ["ends_at", `t.ends_at IS NULL OR t.ends_at > ${lastSuspension("created_at")}`, "it is before the suspension"],
    keyEnds,
  ],
});

export const agentLimitCheck = createRowCheck("agent_limits", { key: ["agent_id", "kind"], rules: [toAgent] });
