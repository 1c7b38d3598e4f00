import { schemaFaultOf } from "../database/database-errors.ts";
import type { Queryable } from "../database/queryable.ts";
import { bandEndsMs, bandToleranceMs } from "../tables/age-bands.ts";
import { compare, type Finding, limitRows, refuse, type TableCheck } from "./finding.ts";

interface Row {
  id: number;
  upvotes: number;
  downvotes: number;
  comment_count: number;
  score: number | null;
  hot_rank: number | null;
  age_band: number;
  up: number;
  down: number;
  comments: number;
  right_score: number;
  right_rank: number;
  band: number;
  highest_band: number;
  community_id: number;
  community: number | null;
  author_id: number;
  author: number | null;
}

/** The definition of the column hot_rank. */
const rank = `SIGN(p.upvotes - p.downvotes) * LOG10(1 + ABS(p.upvotes - p.downvotes))
  + (p.created_at / 1000e0 - 1134028003e0) / 45000e0`;
/** How far the LOG10 of two engines may differ. */
const rankTolerance = "1e-9";
/** The band of a post: the number of bands that it is too old for. */
const bandOf = bandEndsMs.map(() => "(p.created_at < ?)").join(" + ");

// Subqueries instead of joined derived tables: for those the optimizers sometimes choose very slow plans.
const sql = `SELECT p.id, p.upvotes, p.downvotes, p.comment_count, p.score, p.hot_rank, p.age_band,
    (SELECT COUNT(*) FROM votes v FORCE INDEX (PRIMARY) WHERE v.post_id = p.id AND v.value = 1) AS up,
    (SELECT COUNT(*) FROM votes v FORCE INDEX (PRIMARY) WHERE v.post_id = p.id AND v.value = -1) AS down,
    (SELECT COUNT(*) FROM comments c FORCE INDEX (comments_post) WHERE c.post_id = p.id) AS comments,
    p.upvotes - p.downvotes AS right_score, ${rank} AS right_rank, ${bandOf} AS band, ${bandOf} AS highest_band,
    p.community_id, m.id AS community, p.author_id, a.id AS author
  FROM posts p FORCE INDEX (PRIMARY)
  LEFT JOIN communities m ON m.id = p.community_id
  LEFT JOIN agents a ON a.id = p.author_id
  WHERE p.id > ? AND p.id <= ?
  HAVING upvotes <> up OR downvotes <> down OR comment_count <> comments OR NOT (score <=> right_score)
    OR hot_rank IS NULL OR ABS(hot_rank - right_rank) > ${rankTolerance} OR age_band NOT BETWEEN 0 AND highest_band
    OR community IS NULL OR author IS NULL
  ${limitRows}`;

/**
 * A post in a band that is too young is not a finding: the service moves it, and feeds are right until then. A post in a
 * band that is too old by more than the tolerance, or that does not exist, is a finding.
 */
export const postCheck: TableCheck = {
  table: "posts",
  key: "id",
  derived: ["upvotes", "downvotes", "comment_count", "age_band"],
  async find(db, { after, to }, now) {
    const bands = bandEndsMs.map((end) => now - end);
    const highest = bands.map((time) => time + bandToleranceMs);
    const rows = await db.rows<Row>(sql, [...bands, ...highest, after, to]);
    return rows.flatMap(findingsOf);
  },
};

/** When the newest post was created, in milliseconds since 1970 (UTC); 0 if there is none, or the schema is damaged. */
export async function newestPostTime(db: Queryable): Promise<number> {
  try {
    return (await db.rows<{ ms: number | null }>("SELECT MAX(created_at) AS ms FROM posts"))[0]?.ms ?? 0;
  } catch (error) {
    if (schemaFaultOf(error) !== undefined) return 0;
    throw error;
  }
}

function findingsOf(row: Row): Finding[] {
  const key = { id: row.id };
  const isMisplaced = row.age_band < 0 || row.age_band > row.highest_band;
  const isMisranked = row.hot_rank === null || Math.abs(row.hot_rank - row.right_rank) > Number(rankTolerance);
  return [
    ...compare("posts.upvotes", key, row.upvotes, row.up),
    ...compare("posts.downvotes", key, row.downvotes, row.down),
    ...compare("posts.comment_count", key, row.comment_count, row.comments),
    ...compare("posts.score", key, row.score, row.right_score),
    ...(isMisranked ? compare("posts.hot_rank", key, row.hot_rank, row.right_rank) : []),
    ...(isMisplaced ? compare("posts.age_band", key, row.age_band, row.band) : []),
    ...refuse(row.community === null, "posts.community_id", key, `there is no community ${row.community_id}`),
    ...refuse(row.author === null, "posts.author_id", key, `there is no agent ${row.author_id}`),
  ];
}
