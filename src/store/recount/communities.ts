import { postCount } from "../tables/post-counts.ts";
import { compare, limitRows, refuse, type TableCheck } from "./finding.ts";

interface Row {
  id: number;
  post_total: number;
  posts: number;
  created_by: number | null;
  creator: number | null;
}

const sql = `SELECT c.id, ${postCount} AS post_total, c.created_by, a.id AS creator,
    (SELECT COUNT(*) FROM posts p FORCE INDEX (posts_community_new) WHERE p.community_id = c.id) AS posts
  FROM communities c FORCE INDEX (PRIMARY)
  LEFT JOIN agents a ON a.id = c.created_by
  WHERE c.id > ? AND c.id <= ?
  HAVING post_total <> posts OR (created_by IS NOT NULL AND creator IS NULL)
  ${limitRows}`;

export const communityCheck: TableCheck = {
  table: "communities",
  key: "id",
  derived: ["post_count"],
  async find(db, { after, to }) {
    const rows = await db.rows<Row>(sql, [after, to]);
    return rows.flatMap(({ id, post_total, posts, created_by, creator }) => [
      ...compare("communities.post_count", { id }, post_total, posts),
      ...refuse(
        created_by !== null && creator === null,
        "communities.created_by",
        { id },
        `there is no agent ${created_by}`,
      ),
    ]);
  },
};
