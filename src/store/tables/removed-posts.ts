import type { Param, Queryable, Tx } from "../database/queryable.ts";
import type { PostRow } from "./posts.ts";

/*
 * A removed post is not in `posts`, so that feeds, counts and votes need not look for removals. Its row moves under the
 * lock of the post itself, wherever it is.
 */

/** The columns of a removal. Words are those of the contract in lower case: `moderator`, `spam`. */
export interface RemovalColumns {
  /** In which role it was removed; null for what stands. */
  removed_by: string | null;
  /** Null if the author removed it. */
  reason: string | null;
  /** In milliseconds since 1970 (UTC). */
  removed_at: number | null;
}

/** A new removal. */
export interface NewRemoval {
  by: string;
  reason: string | null;
  at: number;
  /** Until when the text is kept, in milliseconds since 1970 (UTC); null erases it at once. */
  eraseAt: number | null;
}

/** A post as a response shows it: its row without the rank. A removed post has the columns of its removal. */
export type PostView = Omit<PostRow, "hot_rank"> & Partial<RemovalColumns>;

/** A removed post as shown: without its text and its author. */
export type RemovedPostRow = PostView & RemovalColumns;

const columns =
  "r.id, '[removed]' AS title, '' AS body, c.name AS community, '[removed]' AS author, NULL AS author_resident," +
  " r.upvotes, r.downvotes, r.comment_count, r.created_at, r.edited_at, r.locked, r.removed_by, r.reason, r.removed_at";

/** A post that is removed. */
export async function findRemovedPost(db: Queryable, id: number): Promise<RemovedPostRow | undefined> {
  const sql = `SELECT ${columns} FROM removed_posts r JOIN communities c ON c.id = r.community_id WHERE r.id = ?`;
  return (await db.rows<RemovedPostRow>(sql, [id]))[0];
}

/** The removed posts of an agent after the id `after`, in the order of their ids. */
export function listRemovedPostsBy(
  db: Queryable,
  authorId: number,
  after: number,
  limit: number,
): Promise<RemovedPostRow[]> {
  const sql = `SELECT STRAIGHT_JOIN ${columns} FROM (
      SELECT id FROM removed_posts FORCE INDEX (removed_posts_author) WHERE author_id = ? AND id > ? ORDER BY id LIMIT ?
    ) page JOIN removed_posts r ON r.id = page.id JOIN communities c ON c.id = r.community_id ORDER BY r.id`;
  return db.rows<RemovedPostRow>(sql, [authorId, after, String(limit)]);
}

/** What stands in the row of a removed post. */
export interface RemovedPostState {
  community_id: number;
  author_id: number;
  removed_by: string;
  reason: string | null;
  erase_at: number | null;
  upvotes: number;
  downvotes: number;
}

/** Locks the row of a removed post. Undefined when there is no such post, or it stands. */
export async function lockRemovedPost(tx: Tx, id: number): Promise<RemovedPostState | undefined> {
  const sql = `SELECT community_id, author_id, removed_by, reason, erase_at, upvotes, downvotes FROM removed_posts
    WHERE id = ? FOR UPDATE`;
  return (await tx.rows<RemovedPostState>(sql, [id]))[0];
}

/** Moves a post that is locked to the removed ones. @returns its score, which its author's karma loses */
export async function movePostToRemoved(tx: Tx, id: number, removal: NewRemoval): Promise<number> {
  const text = removal.eraseAt === null ? "'', '', NULL" : "title, body, salt";
  await tx.run(
    `INSERT INTO removed_posts (id, community_id, author_id, title, body, salt, upvotes, downvotes, comment_count, created_at,
       edited_at, locked, removed_by, reason, removed_at, erase_at)
     SELECT id, community_id, author_id, ${text}, upvotes, downvotes, comment_count, created_at, edited_at, locked, ?, ?, ?, ?
     FROM posts WHERE id = ?`,
    [removal.by, removal.reason, removal.at, removal.eraseAt, id],
  );
  const [row] = await tx.rows<{ score: number }>("SELECT score FROM posts WHERE id = ?", [id]);
  await tx.run("DELETE FROM posts WHERE id = ?", [id]);
  return row?.score ?? 0;
}

/**
 * Moves a removed post that is locked back. The caller must put all of its items into inboxes. A sweep moves it to its band of
 * age.
 */
export async function movePostBack(tx: Tx, id: number): Promise<void> {
  await tx.run(
    `INSERT INTO posts (id, community_id, author_id, title, body, salt, upvotes, downvotes, comment_count, created_at,
       edited_at, locked, noted)
     SELECT id, community_id, author_id, title, body, salt, upvotes, downvotes, comment_count, created_at, edited_at, locked,
       COALESCE(edited_at, 0)
     FROM removed_posts WHERE id = ?`,
    [id],
  );
  await tx.run("DELETE FROM removed_posts WHERE id = ?", [id]);
}

/** Where removed posts and removed comments are. */
type RemovedTable = "removed_posts" | "removed_comments";

/** What an erased text leaves in its row. */
const erased = {
  removed_posts: "title = '', body = '', salt = NULL",
  removed_comments: "body = '', salt = NULL",
} as const;

/** What changes of a removal: its role, its reason, until when the text is kept, and `at` if its time changes. */
export type RemovalChange = Omit<NewRemoval, "at"> & { at?: number };

/** Changes a removal. The row must be locked. */
export async function putRemoval(
  tx: Tx,
  table: RemovedTable,
  id: number,
  { by, reason, eraseAt, at }: RemovalChange,
): Promise<void> {
  const text = eraseAt === null ? `, ${erased[table]}` : "";
  await tx.run(
    `UPDATE ${table} SET removed_by = ?, reason = ?, erase_at = ?, removed_at = COALESCE(?, removed_at)${text} WHERE id = ?`,
    [by, reason, eraseAt, at ?? null, id],
  );
}

/** Adds to the number of comments of a post that is locked, removed or not. It ignores the lock against comments. */
export async function addToCommentCount(tx: Tx, id: number, isRemoved: boolean, change: 1 | -1): Promise<void> {
  if (isRemoved) {
    await tx.run("UPDATE removed_posts SET comment_count = comment_count + ? WHERE id = ?", [change, id]);
    return;
  }
  if (change === -1) {
    await tx.run("UPDATE posts SET comment_count = comment_count - 1 WHERE id = ?", [id]);
    return;
  }
  const [row] = await tx.rows<{ comment_count: number }>("SELECT comment_count FROM posts WHERE id = ?", [id]);
  await putCommentCount(tx, id, (row?.comment_count ?? 0) + 1);
}

/** Stores the number of comments of a standing post that is locked, whether or not it takes comments. */
export async function putCommentCount(tx: Tx, id: number, count: Param): Promise<void> {
  // The trigger for older versions refuses one more comment only where the post stays locked against comments.
  const [row] = await tx.rows<{ locked: number }>("SELECT locked FROM posts WHERE id = ?", [id]);
  await tx.run("UPDATE posts SET comment_count = ?, locked = 0 WHERE id = ?", [count, id]);
  if (row?.locked === 1) await tx.run("UPDATE posts SET locked = 1 WHERE id = ?", [id]);
}

/**
 * Erases what is kept of up to `limit` removed posts or comments of an agent after the id `after`.
 * @returns the last of them, whether or not its text was kept; undefined if there is none
 */
export async function eraseTextsOfAuthor(
  tx: Tx,
  table: RemovedTable,
  authorId: number,
  after: number,
  limit: number,
): Promise<number | undefined> {
  // The rows are locked by their ids, as everywhere. A search that locks would lock the index first.
  const rows = await tx.rows<{ id: number; erase_at: number | null }>(
    `SELECT id, erase_at FROM ${table} FORCE INDEX (${table}_author) WHERE author_id = ? AND id > ? ORDER BY id LIMIT ?`,
    [authorId, after, String(limit)],
  );
  const sql = `UPDATE ${table} SET ${erased[table]}, erase_at = NULL WHERE id = ? AND erase_at IS NOT NULL`;
  for (const { id, erase_at } of rows) if (erase_at !== null) await tx.run(sql, [id]);
  return rows.at(-1)?.id;
}

/** Erases up to `limit` removed texts whose time is over. @returns how many */
export async function eraseTexts(tx: Tx, table: RemovedTable, now: number, limit: number): Promise<number> {
  // The rows are locked by their ids, as everywhere. A search that locks would lock the index first.
  const due = await tx.rows<{ id: number }>(`SELECT id FROM ${table} WHERE erase_at <= ? ORDER BY erase_at LIMIT ?`, [
    now,
    String(limit),
  ]);
  const sql = `UPDATE ${table} SET ${erased[table]}, erase_at = NULL WHERE id = ? AND erase_at <= ?`;
  for (const { id } of due) await tx.run(sql, [id, now]);
  return due.length;
}
