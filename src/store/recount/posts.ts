import { schemaFaultOf } from "../database/database-errors.ts";
import type { Queryable } from "../database/queryable.ts";
import { bandEndsMs, bandToleranceMs } from "../tables/age-bands.ts";
import { createRowCheck, type Rule } from "./row-check.ts";
import { createdBefore, firstOf, removedRules, toAuthor, toCommunity } from "./rules.ts";
import { voteCounts } from "./votes.ts";

/** SQL: the definition of the column hot_rank. */
const rank = `SIGN(t.upvotes - t.downvotes) * LOG10(1 + ABS(t.upvotes - t.downvotes))
  + (t.created_at / 1000e0 - 1134028003e0) / 45000e0`;
/** How far the LOG10 of two engines may differ. */
const rankTolerance = "1e-9";
/** SQL: the band of a post, which is the number of bands that it is too old for. */
const band = bandEndsMs.map(() => "(t.created_at < ?)").join(" + ");

const counted = {
  ...voteCounts("votes", "post"),
  comment_count: "(SELECT COUNT(*) FROM comments c FORCE INDEX (comments_post) WHERE c.post_id = t.id)",
};

const rules: Rule[] = [
  toCommunity,
  toAuthor,
  [
    "locked",
    `t.locked = COALESCE((SELECT m.act = 'lock' FROM moderations m WHERE m.item = 'post' AND m.item_id = t.id
       AND m.act IN ('lock', 'unlock') ORDER BY m.id DESC LIMIT 1), 0)`,
    "it differs from the last act of moderation",
  ],
  [
    "edited_at",
    `IF(t.edited_at IS NULL, 0, t.edited_at) IN
       (SELECT r.edited_at FROM post_revisions r WHERE r.post_id = t.id UNION ALL SELECT 0)
     AND (t.edited_at IS NOT NULL OR NOT EXISTS (SELECT 1 FROM post_revisions r WHERE r.post_id = t.id))`,
    "it differs from the revisions of the post",
  ],
];

/**
 * A post whose band is too young is not a finding: the service moves it, and feeds are right until then. It is a finding if
 * the band does not exist, or is too old by more than the tolerance.
 */
export const postCheck = createRowCheck("posts", {
  key: ["id"],
  derived: { ...counted, age_band: `IF(t.age_band BETWEEN 0 AND ${band}, t.age_band, ${band})` },
  expected: {
    score: "t.upvotes - t.downvotes",
    hot_rank: `IF(ABS(t.hot_rank - (${rank})) <= ${rankTolerance}, t.hot_rank, ${rank})`,
  },
  params: (now) => [...bandEndsMs.map((end) => now - end + bandToleranceMs), ...bandEndsMs.map((end) => now - end)],
  rules: [
    ["created_at", createdBefore(firstOf("comments", "comments_time", "post_id")), "it is after the first comment"],
    ...rules,
  ],
});

/** A removed post keeps its votes and comments, so that it can be restored. */
export const removedPostCheck = createRowCheck("removed_posts", {
  key: ["id"],
  derived: counted,
  rules: [...removedRules("post", "t.title = '' AND t.body = ''"), ...rules],
});

/** When the newest post was created, in milliseconds since 1970 (UTC); 0 if there is none, or the schema is damaged. */
export async function newestPostTime(db: Queryable): Promise<number> {
  try {
    return (await db.rows<{ ms: number | null }>("SELECT MAX(created_at) AS ms FROM posts"))[0]?.ms ?? 0;
  } catch (error) {
    if (schemaFaultOf(error) !== undefined) return 0;
    throw error;
  }
}
