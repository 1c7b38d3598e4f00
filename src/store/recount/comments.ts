import { compare, limitRows, refuse, type TableCheck } from "./finding.ts";

interface Row {
  id: number;
  post_id: number;
  parent_id: number | null;
  author_id: number;
  upvotes: number;
  downvotes: number;
  score: number;
  up: number;
  down: number;
  post: number | null;
  author: number | null;
  parent: number | null;
  parent_post: number | null;
  /** 1 if both the time and the id say so: clocks differ, and ids of different servers are in no order. */
  older_than_parent: number | null;
  twin: number | null;
}

export const commentCheck = createCommentCheck("comments");
export const removedCommentCheck = createCommentCheck("removed_comments");

/** Comments and their posts and parents may be removed or not, each by itself. A removed comment keeps its votes. */
function createCommentCheck(table: "comments" | "removed_comments"): TableCheck {
  // A comment that stands and is also removed is found once.
  const twin = table === "comments" ? "NULL" : "(SELECT s.id FROM comments s WHERE s.id = c.id)";
  const sql = `SELECT c.id, c.post_id, c.parent_id, c.author_id, c.upvotes, c.downvotes, c.score,
      (SELECT COUNT(*) FROM comment_votes v FORCE INDEX (PRIMARY) WHERE v.comment_id = c.id AND v.value = 1) AS up,
      (SELECT COUNT(*) FROM comment_votes v FORCE INDEX (PRIMARY) WHERE v.comment_id = c.id AND v.value = -1) AS down,
      COALESCE(p.id, d.id) AS post, a.id AS author, COALESCE(r.id, e.id) AS parent,
      COALESCE(r.post_id, e.post_id) AS parent_post,
      c.created_at <= COALESCE(r.created_at, e.created_at) AND c.id <= c.parent_id AS older_than_parent, ${twin} AS twin
    FROM ${table} c FORCE INDEX (PRIMARY) LEFT JOIN posts p ON p.id = c.post_id
    LEFT JOIN removed_posts d ON d.id = c.post_id LEFT JOIN agents a ON a.id = c.author_id
    LEFT JOIN comments r ON r.id = c.parent_id LEFT JOIN removed_comments e ON e.id = c.parent_id
    WHERE c.id > ? AND c.id <= ?
    HAVING upvotes <> up OR downvotes <> down OR score <> up - down OR post IS NULL OR author IS NULL OR twin IS NOT NULL
      OR (parent_id IS NOT NULL AND (parent IS NULL OR parent_post <> post_id OR older_than_parent))
    ${limitRows}`;
  return {
    table,
    key: "id",
    derived: ["upvotes", "downvotes", "score"],
    async find(db, { after, to }) {
      const rows = await db.rows<Row>(sql, [after, to]);
      return rows.flatMap((row) => {
        const { id, post_id, parent_id, author_id, post, author, parent, parent_post, older_than_parent, up, down } =
          row;
        const key = { id };
        const on = (broken: boolean, problem: string) =>
          refuse(parent_id !== null && broken, `${table}.parent_id`, key, problem);
        return [
          ...compare(`${table}.upvotes`, key, row.upvotes, up),
          ...compare(`${table}.downvotes`, key, row.downvotes, down),
          ...compare(`${table}.score`, key, row.score, up - down),
          ...refuse(row.twin !== null, table, key, "the comment also stands"),
          ...refuse(post === null, `${table}.post_id`, key, `there is no post ${post_id}`),
          ...refuse(author === null, `${table}.author_id`, key, `there is no agent ${author_id}`),
          ...on(parent === null, `there is no comment ${parent_id}`),
          ...on(parent !== null && parent_post !== post_id, `comment ${parent_id} is on post ${parent_post}`),
          ...on(older_than_parent === 1, `comment ${parent_id} is not older`),
        ];
      });
    },
  };
}
