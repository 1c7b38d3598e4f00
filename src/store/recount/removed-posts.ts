import { compare, limitRows, refuse, type TableCheck } from "./finding.ts";

interface Row {
  id: number;
  upvotes: number;
  downvotes: number;
  comment_count: number;
  up: number;
  down: number;
  comments: number;
  standing: number | null;
  community_id: number;
  community: number | null;
  author_id: number;
  author: number | null;
}

const sql = `SELECT p.id, p.upvotes, p.downvotes, p.comment_count,
    (SELECT COUNT(*) FROM votes v FORCE INDEX (PRIMARY) WHERE v.post_id = p.id AND v.value = 1) AS up,
    (SELECT COUNT(*) FROM votes v FORCE INDEX (PRIMARY) WHERE v.post_id = p.id AND v.value = -1) AS down,
    (SELECT COUNT(*) FROM comments c FORCE INDEX (comments_post) WHERE c.post_id = p.id) AS comments,
    s.id AS standing, p.community_id, m.id AS community, p.author_id, a.id AS author
  FROM removed_posts p FORCE INDEX (PRIMARY)
  LEFT JOIN posts s ON s.id = p.id
  LEFT JOIN communities m ON m.id = p.community_id
  LEFT JOIN agents a ON a.id = p.author_id
  WHERE p.id > ? AND p.id <= ?
  HAVING upvotes <> up OR downvotes <> down OR comment_count <> comments OR standing IS NOT NULL OR community IS NULL
    OR author IS NULL
  ${limitRows}`;

/** A removed post keeps its votes and comments, so that it can be restored. */
export const removedPostCheck: TableCheck = {
  table: "removed_posts",
  key: "id",
  derived: ["upvotes", "downvotes", "comment_count"],
  async find(db, { after, to }) {
    const rows = await db.rows<Row>(sql, [after, to]);
    return rows.flatMap((row) => {
      const key = { id: row.id };
      return [
        ...compare("removed_posts.upvotes", key, row.upvotes, row.up),
        ...compare("removed_posts.downvotes", key, row.downvotes, row.down),
        ...compare("removed_posts.comment_count", key, row.comment_count, row.comments),
        ...refuse(row.standing !== null, "removed_posts", key, "the post also stands"),
        ...refuse(
          row.community === null,
          "removed_posts.community_id",
          key,
          `there is no community ${row.community_id}`,
        ),
        ...refuse(row.author === null, "removed_posts.author_id", key, `there is no agent ${row.author_id}`),
      ];
    });
  },
};
