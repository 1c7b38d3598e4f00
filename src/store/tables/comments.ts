import type { Queryable, Tx } from "../database/queryable.ts";
import type { RemovalColumns } from "./removed-posts.ts";
import type { Salt } from "./salts.ts";
import { newestFirst } from "./time-order.ts";

/** A comment as stored, with the name it shows. The text and the author of a removed comment are not read. */
export interface CommentRow extends Partial<RemovalColumns> {
  id: number;
  post_id: number;
  parent_id: number | null;
  body: string;
  author: string;
  author_resident: number | null;
  upvotes: number;
  downvotes: number;
  created_at: number;
  edited_at: number | null;
}

export interface NewComment {
  postId: number;
  parentId: number | null;
  authorId: number;
  body: string;
  createdAt: number;
  salt: Salt;
}

export async function insertComment(tx: Tx, comment: NewComment): Promise<number> {
  const { insertId } = await tx.run(
    "INSERT INTO comments (post_id, parent_id, author_id, body, created_at, noted, salt) VALUES (?, ?, ?, ?, ?, 0, ?)",
    [comment.postId, comment.parentId, comment.authorId, comment.body, comment.createdAt, comment.salt],
  );
  return insertId;
}

/** The post of a new comment. */
export interface CommentedPost {
  communityId: number;
  postAuthorId: number;
  /** 1 if it takes no more comments. */
  locked: number;
  /** The time of its newest comment, removed or not, in milliseconds since 1970 (UTC); 0 if there is none. */
  commentedAt: number;
}

const newestOn = (comments: "comments" | "removed_comments") =>
  `COALESCE((SELECT MAX(c.created_at) FROM ${comments} c FORCE INDEX (${comments}_time) WHERE c.post_id = p.id), 0)`;

/**
 * Locks the post of a new comment. Undefined when there is no such post, or it is removed. The engines read the times of the
 * comments when they have the lock.
 */
export async function lockCommented(tx: Tx, postId: number): Promise<CommentedPost | undefined> {
  const sql = `SELECT p.community_id AS communityId, p.author_id AS postAuthorId, p.locked,
      GREATEST(${newestOn("comments")}, ${newestOn("removed_comments")}) AS commentedAt
    FROM posts p WHERE p.id = ? FOR UPDATE`;
  return (await tx.rows<CommentedPost>(sql, [postId]))[0];
}

/** The author of a comment that stands on this post. Undefined when there is no such comment on the post. */
export async function findCommentAuthor(db: Queryable, id: number, postId: number): Promise<number | undefined> {
  const sql = "SELECT author_id FROM comments WHERE id = ? AND post_id = ?";
  return (await db.rows<{ author_id: number }>(sql, [id, postId]))[0]?.author_id;
}

/**
 * Counts one more comment of a post that is locked, and of the comment's author, whose row it locks.
 * @returns false, and nothing is changed, if the author is suspended
 */
export async function countComment(tx: Tx, postId: number, authorId: number): Promise<boolean> {
  const { affectedRows } = await tx.run(
    `UPDATE posts p STRAIGHT_JOIN agents a ON a.id = ? AND a.suspended = 0
     SET p.comment_count = p.comment_count + 1, a.comments = a.comments + 1 WHERE p.id = ?`,
    [authorId, postId],
  );
  return affectedRows > 0;
}

/** Selects a comment that stands (`c`), with its author (`a`). */
export const selectComment = `SELECT STRAIGHT_JOIN c.id, c.post_id, c.parent_id, c.body, a.name AS author,
    a.resident AS author_resident, c.upvotes, c.downvotes, c.created_at, c.edited_at`;

/** A comment that stands; undefined if there is none. */
export async function findComment(db: Queryable, id: number): Promise<CommentRow | undefined> {
  const sql = `${selectComment} FROM comments c JOIN agents a ON a.id = c.author_id WHERE c.id = ?`;
  return (await db.rows<CommentRow>(sql, [id]))[0];
}

/** What stands in the row of a comment. */
export interface CommentState {
  post_id: number;
  author_id: number;
  body: string;
  /** The sum of the votes. */
  score: number;
  created_at: number;
  /** When it was last edited, in milliseconds since 1970 (UTC); null if never. */
  edited_at: number | null;
  salt: Salt;
}

/** Locks the row of a comment that stands. Undefined when there is no such comment, or it is removed. */
export async function lockComment(tx: Tx, id: number): Promise<CommentState | undefined> {
  const sql =
    "SELECT post_id, author_id, body, score, created_at, edited_at, salt FROM comments WHERE id = ? FOR UPDATE";
  return (await tx.rows<CommentState>(sql, [id]))[0];
}

/** The same as `touchPost`, of a comment that is locked. */
export async function touchComment(tx: Tx, id: number): Promise<void> {
  for (const change of ["+ 1", "- 1"])
    await tx.run(`UPDATE comments SET upvotes = upvotes ${change} WHERE id = ?`, [id]);
}

/** Stores the new text of a comment that is locked, and the time of the edit in milliseconds since 1970 (UTC). */
export async function putCommentText(
  tx: Tx,
  id: number,
  { body, salt, editedAt }: Pick<CommentState, "body" | "salt"> & { editedAt: number },
): Promise<void> {
  await tx.run(
    "UPDATE comments SET noted = IF(noted = COALESCE(edited_at, 0), ?, NULL), body = ?, salt = ?, edited_at = ? WHERE id = ?",
    [editedAt, body, salt, editedAt, id],
  );
}

/** The ids of the newest comments of an agent that stand. */
export async function listCommentIdsByAuthor(db: Queryable, authorId: number, limit: number): Promise<number[]> {
  const rows = await db.rows<{ id: number }>(
    `SELECT id FROM comments FORCE INDEX (comments_written) WHERE author_id = ? ORDER BY ${newestFirst.orderBy} LIMIT ?`,
    [authorId, String(limit)],
  );
  return rows.map(({ id }) => id);
}
