import { createRowCheck, type Rule } from "./row-check.ts";
import { clocksMs, createdBefore, removedRules, toAuthor } from "./rules.ts";
import { voteCounts } from "./votes.ts";

const isEditedLater = createdBefore("t.edited_at");
const ofStanding: Rule[] = [["edited_at", isEditedLater, "it is before the comment was made"]];
const ofRemoved: Rule[] = [
  ...removedRules("comment", "t.body = ''"),
  [
    "edited_at",
    `${isEditedLater} AND COALESCE(t.edited_at, 0) <= t.removed_at + ${clocksMs}`,
    "it is before the comment was made, or after the removal",
  ],
];

export const commentCheck = createCommentCheck("comments");
export const removedCommentCheck = createCommentCheck("removed_comments");

/** A comment, its post and its parent are removed separately: each may be in either table. A removed one keeps its votes. */
function createCommentCheck(table: "comments" | "removed_comments") {
  const score = `(SELECT CAST(COALESCE(SUM(v.value = 1) - SUM(v.value = -1), 0) AS SIGNED)
    FROM comment_votes v FORCE INDEX (PRIMARY) WHERE v.comment_id = t.id)`;
  const isReply = "t.parent_id IS NOT NULL AND COALESCE(r.id, e.id) IS NOT NULL";
  return createRowCheck(table, {
    key: ["id"],
    from: `${table} t FORCE INDEX (PRIMARY) LEFT JOIN posts p ON p.id = t.post_id
      LEFT JOIN removed_posts d ON d.id = t.post_id
      LEFT JOIN comments r ON r.id = t.parent_id LEFT JOIN removed_comments e ON e.id = t.parent_id`,
    derived: { ...voteCounts("comment_votes", "comment"), score },
    rules: [
      ["post_id", "COALESCE(p.id, d.id) IS NOT NULL", (id) => `there is no post ${id}`],
      toAuthor,
      ["parent_id", "t.parent_id IS NULL OR COALESCE(r.id, e.id) IS NOT NULL", (id) => `there is no comment ${id}`],
      [
        "parent_id",
        `NOT (${isReply}) OR COALESCE(r.post_id, e.post_id) = t.post_id`,
        (id) => `comment ${id} is on another post`,
      ],
      // Clocks differ, and the servers of a cluster give out ids in no common order. So this is a finding only if both the time
      // and the id say that the parent is not older.
      [
        "parent_id",
        `NOT (${isReply}) OR t.created_at > COALESCE(r.created_at, e.created_at) OR t.id > t.parent_id`,
        (id) => `comment ${id} is not older`,
      ],
      ...(table === "comments" ? ofStanding : ofRemoved),
    ],
  });
}
