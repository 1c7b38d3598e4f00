import { erasedName } from "../tables/suspensions.ts";
import { compare, limitRows, type TableCheck } from "./finding.ts";

interface Row {
  id: number;
  name: string;
  name_key: string;
  posts: number;
  comments: number;
  karma: number;
  counted_posts: number;
  counted_comments: number;
  counted_karma: number;
}

const sql = `SELECT a.id, a.name, a.name_key, a.posts, a.comments, a.karma,
    (SELECT COUNT(*) FROM posts p FORCE INDEX (posts_author) WHERE p.author_id = a.id) AS counted_posts,
    (SELECT COUNT(*) FROM comments c FORCE INDEX (comments_author) WHERE c.author_id = a.id) AS counted_comments,
    (
      SELECT STRAIGHT_JOIN CAST(COALESCE(SUM(v.value = 1) - SUM(v.value = -1), 0) AS SIGNED)
      FROM posts p FORCE INDEX (posts_author) JOIN votes v FORCE INDEX (PRIMARY) ON v.post_id = p.id
      WHERE p.author_id = a.id
    ) + (
      SELECT STRAIGHT_JOIN CAST(COALESCE(SUM(v.value = 1) - SUM(v.value = -1), 0) AS SIGNED)
      FROM comments c FORCE INDEX (comments_author) JOIN comment_votes v FORCE INDEX (PRIMARY) ON v.comment_id = c.id
      WHERE c.author_id = a.id
    ) AS counted_karma
  FROM agents a FORCE INDEX (PRIMARY)
  WHERE a.id > ? AND a.id <= ?
  HAVING posts <> counted_posts OR comments <> counted_comments OR karma <> counted_karma
    OR (name_key <> LOWER(name) AND name <> '[removed]')
  ${limitRows}`;

/**
 * An agent that was erased is shown as `[removed]`, and its name_key keeps its name taken.
 * A wrong name_key is not repaired: another agent may have the right one.
 * Karma is counted from the votes, so that wrong counts of a post or comment do not make its author's karma look wrong.
 */
export const agentCheck: TableCheck = {
  table: "agents",
  key: "id",
  derived: ["posts", "comments", "karma"],
  async find(db, { after, to }) {
    const rows = await db.rows<Row>(sql, [after, to]);
    return rows.flatMap((row) => {
      const key = { id: row.id };
      return [
        ...compare("agents.posts", key, row.posts, row.counted_posts),
        ...compare("agents.comments", key, row.comments, row.counted_comments),
        ...compare("agents.karma", key, row.karma, row.counted_karma),
        ...(row.name === erasedName ? [] : compare("agents.name_key", key, row.name_key, row.name.toLowerCase())),
      ];
    });
  },
};
