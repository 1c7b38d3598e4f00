import type { Queryable, Tx } from "../database/queryable.ts";
import type { RemovalColumns } from "./removed-posts.ts";

/** A comment as stored, with the name it shows. The text and the author of a removed comment are not read. */
export interface CommentRow extends Partial<RemovalColumns> {
  id: number;
  post_id: number;
  parent_id: number | null;
  body: string;
  author: string;
  author_resident: number | null;
  created_at: number;
  edited_at: number | null;
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

/** Whom a new comment answers. */
export interface Answered {
  postAuthorId: number;
  /** Null for a comment that replies to none. */
  parentAuthorId: number | null;
}

/** The authors of a standing post and of a standing comment on it. Undefined when there is no such comment on the post. */
export async function findAnswered(
  db: Queryable,
  postId: number,
  parentId: number | null,
): Promise<Answered | undefined> {
  const rows =
    parentId === null
      ? await db.rows<Answered>("SELECT author_id AS postAuthorId, NULL AS parentAuthorId FROM posts WHERE id = ?", [
          postId,
        ])
      : await db.rows<Answered>(
          `SELECT p.author_id AS postAuthorId, c.author_id AS parentAuthorId FROM comments c JOIN posts p ON p.id = c.post_id
           WHERE c.id = ? AND c.post_id = ?`,
          [parentId, postId],
        );
  return rows[0];
}

const selectComment = `SELECT c.id, c.post_id, c.parent_id, c.body, a.name AS author, a.resident AS author_resident,
    c.created_at, c.edited_at`;

/** A comment that stands. */
export async function findComment(db: Queryable, id: number): Promise<CommentRow | undefined> {
  const sql = `${selectComment} FROM comments c JOIN agents a ON a.id = c.author_id WHERE c.id = ?`;
  return (await db.rows<CommentRow>(sql, [id]))[0];
}

/** What stands in the row of a comment. */
export interface CommentState {
  post_id: number;
  author_id: number;
  body: string;
  created_at: number;
}

/** Locks the row of a comment that stands. Undefined when there is no such comment, or it is removed. */
export async function lockComment(tx: Tx, id: number): Promise<CommentState | undefined> {
  const sql = "SELECT post_id, author_id, body, created_at FROM comments WHERE id = ? FOR UPDATE";
  return (await tx.rows<CommentState>(sql, [id]))[0];
}

/** Stores the new text of a comment that is locked, and the time of the edit in milliseconds since 1970 (UTC). */
export async function putCommentText(tx: Tx, id: number, body: string, editedAt: number): Promise<void> {
  await tx.run("UPDATE comments SET body = ?, edited_at = ? WHERE id = ?", [body, editedAt, id]);
}

/** The ids of the newest comments of an agent that stand. */
export async function listCommentIdsByAuthor(db: Queryable, authorId: number, limit: number): Promise<number[]> {
  const rows = await db.rows<{ id: number }>(
    "SELECT id FROM comments FORCE INDEX (comments_author) WHERE author_id = ? ORDER BY id DESC LIMIT ?",
    [authorId, String(limit)],
  );
  return rows.map(({ id }) => id);
}

/**
 * The comments of a post after the comment `after`, in the order in which they were accepted, with the post's counters at
 * the same moment. Removed comments keep their place. Undefined when there is no such post. Ids are assigned under the
 * post's lock, so the order is by id. The ids are read first, as for feeds: otherwise the engines would read and sort all
 * comments after `after`.
 * @param table where the post is: `removed_posts` if it is removed
 */
export async function listComments(
  db: Queryable,
  postId: number,
  after: number,
  limit: number,
  table: "posts" | "removed_posts" = "posts",
): Promise<{ post: PostCounters; comments: CommentRow[] } | undefined> {
  const rows = await db.rows<PostCounters & ((CommentRow & RemovalColumns) | { id: null })>(
    `SELECT STRAIGHT_JOIN p.upvotes, p.downvotes, p.comment_count, page.id, p.id AS post_id,
      COALESCE(c.parent_id, r.parent_id) AS parent_id, COALESCE(c.body, '') AS body, a.name AS author,
      a.resident AS author_resident, COALESCE(c.created_at, r.created_at) AS created_at,
      COALESCE(c.edited_at, r.edited_at) AS edited_at, r.removed_by, r.reason, r.removed_at
     FROM ${table} p
     LEFT JOIN (
      (SELECT id, 0 AS removed FROM comments FORCE INDEX (comments_post) WHERE post_id = ? AND id > ? ORDER BY id LIMIT ?)
      UNION ALL
      (SELECT id, 1 FROM removed_comments FORCE INDEX (removed_comments_post) WHERE post_id = ? AND id > ? ORDER BY id LIMIT ?)
      ORDER BY id LIMIT ?
     ) page ON TRUE
     LEFT JOIN comments c ON page.removed = 0 AND c.id = page.id
     LEFT JOIN removed_comments r ON page.removed = 1 AND r.id = page.id
     LEFT JOIN agents a ON a.id = c.author_id
     WHERE p.id = ?`,
    [postId, after, String(limit), postId, after, String(limit), String(limit), postId],
  );
  const [first] = rows;
  if (first === undefined) return undefined;
  // MariaDB would sort these few rows in a temporary table on the disk, because they hold texts.
  const comments = first.id === null ? [] : (rows as (PostCounters & CommentRow)[]).sort((a, b) => a.id - b.id);
  return { post: first, comments };
}
