import type { Queryable, Tx } from "../database/queryable.ts";

/** A comment as stored, with the name it shows. */
export interface CommentRow {
  id: number;
  post_id: number;
  parent_id: number | null;
  body: string;
  author: string;
  author_resident: number | null;
  created_at: number;
}

export interface NewComment {
  postId: number;
  parentId: number | null;
  authorId: number;
  body: string;
  createdAt: number;
}

/** The counters of a post, read by the same statement as its comments, so that they agree. */
export interface PostCounters {
  upvotes: number;
  downvotes: number;
  comment_count: number;
}

export async function insertComment(tx: Tx, comment: NewComment): Promise<number> {
  const { insertId } = await tx.run(
    "INSERT INTO comments (post_id, parent_id, author_id, body, created_at) VALUES (?, ?, ?, ?, ?)",
    [comment.postId, comment.parentId, comment.authorId, comment.body, comment.createdAt],
  );
  return insertId;
}

export async function commentExists(db: Queryable, postId: number, id: number): Promise<boolean> {
  return (await db.rows("SELECT 1 FROM comments WHERE id = ? AND post_id = ?", [id, postId])).length > 0;
}

/**
 * The comments of a post after the comment `after`, in the order in which they were accepted, with the post's counters at
 * the same moment. Undefined when there is no such post. Ids are assigned under the post's lock, so the order is by id. The
 * ids are read first, as for feeds: otherwise the engines would read and sort all comments after `after`.
 */
export async function listComments(
  db: Queryable,
  postId: number,
  after: number,
  limit: number,
): Promise<{ post: PostCounters; comments: CommentRow[] } | undefined> {
  const rows = await db.rows<PostCounters & (CommentRow | { id: null })>(
    `SELECT STRAIGHT_JOIN p.upvotes, p.downvotes, p.comment_count,
      c.id, c.post_id, c.parent_id, c.body, a.name AS author, a.resident AS author_resident, c.created_at
     FROM posts p
     LEFT JOIN (
      SELECT id FROM comments FORCE INDEX (comments_post) WHERE post_id = ? AND id > ? ORDER BY id LIMIT ?
     ) page ON TRUE
     LEFT JOIN comments c ON c.id = page.id
     LEFT JOIN agents a ON a.id = c.author_id
     WHERE p.id = ?`,
    [postId, after, String(limit), postId],
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  // MariaDB would sort these few rows in a temporary table on the disk, because they hold texts.
  const comments = first.id === null ? [] : (rows as (PostCounters & CommentRow)[]).sort((a, b) => a.id - b.id);
  return { post: first, comments };
}
