import type { Queryable, Tx } from "../database/queryable.ts";
import type { CommentRow } from "./comments.ts";
import type { NewRemoval } from "./removed-posts.ts";

/** A removed comment as shown: without its text and its author. */
const columns =
  "id, post_id, parent_id, '' AS body, '[removed]' AS author, NULL AS author_resident, upvotes, downvotes, created_at," +
  " edited_at, removed_by, reason, removed_at";

/** A comment that is removed. */
export async function findRemovedComment(db: Queryable, id: number): Promise<CommentRow | undefined> {
  return (await db.rows<CommentRow>(`SELECT ${columns} FROM removed_comments WHERE id = ?`, [id]))[0];
}

/** The removed comments of an agent after the id `after`, in the order of their ids. */
export function listRemovedCommentsBy(
  db: Queryable,
  authorId: number,
  after: number,
  limit: number,
): Promise<CommentRow[]> {
  const sql = `SELECT ${columns} FROM removed_comments FORCE INDEX (removed_comments_author)
    WHERE author_id = ? AND id > ? ORDER BY id LIMIT ?`;
  return db.rows<CommentRow>(sql, [authorId, after, String(limit)]);
}

/** The post of a comment, removed or not. It never changes. */
export async function findPostOfComment(db: Queryable, id: number): Promise<number | undefined> {
  const rows = await db.rows<{ post_id: number }>(
    "SELECT post_id FROM comments WHERE id = ? UNION ALL SELECT post_id FROM removed_comments WHERE id = ?",
    [id, id],
  );
  return rows[0]?.post_id;
}

/** What stands in the row of a removed comment. */
export interface RemovedCommentState {
  author_id: number;
  removed_by: string;
  reason: string | null;
  erase_at: number | null;
  /** The sum of the votes, which do not count until the comment is restored. */
  score: number;
}

/** Locks the row of a removed comment. Undefined when there is no such comment, or it stands. */
export async function lockRemovedComment(tx: Tx, id: number): Promise<RemovedCommentState | undefined> {
  const sql = "SELECT author_id, removed_by, reason, erase_at, score FROM removed_comments WHERE id = ? FOR UPDATE";
  return (await tx.rows<RemovedCommentState>(sql, [id]))[0];
}

/** Moves a comment that is locked, like its post, to the removed ones. */
export async function moveCommentToRemoved(tx: Tx, id: number, removal: NewRemoval): Promise<void> {
  await tx.run(
    `INSERT INTO removed_comments (id, post_id, parent_id, author_id, body, salt, upvotes, downvotes, score, created_at,
       edited_at, removed_by, reason, removed_at, erase_at)
     SELECT id, post_id, parent_id, author_id, ${removal.eraseAt === null ? "'', NULL" : "body, salt"}, upvotes, downvotes, score, created_at,
       edited_at, ?, ?, ?, ?
     FROM comments WHERE id = ?`,
    [removal.by, removal.reason, removal.at, removal.eraseAt, id],
  );
  await tx.run("DELETE FROM comments WHERE id = ?", [id]);
}

/** Moves a removed comment that is locked, like its post, back. The caller must put all of its items into inboxes. */
export async function moveCommentBack(tx: Tx, id: number): Promise<void> {
  await tx.run(
    `INSERT INTO comments (id, post_id, parent_id, author_id, body, salt, upvotes, downvotes, score, created_at, edited_at,
       noted)
     SELECT id, post_id, parent_id, author_id, body, salt, upvotes, downvotes, score, created_at, edited_at, COALESCE(edited_at, 0)
     FROM removed_comments WHERE id = ?`,
    [id],
  );
  await tx.run("DELETE FROM removed_comments WHERE id = ?", [id]);
}
