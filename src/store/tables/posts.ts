import { isNullRefused } from "../database/database-errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";
import { inList } from "./id-lists.ts";
import type { Salt } from "./salts.ts";
import { newestFirst, oldestFirst, type TimePosition } from "./time-order.ts";

/** A post as stored, with the names it shows. */
export interface PostRow {
  id: number;
  title: string;
  body: string;
  community: string;
  author: string;
  author_resident: number | null;
  upvotes: number;
  downvotes: number;
  comment_count: number;
  created_at: number;
  edited_at: number | null;
  /** 1 if the post takes no more comments. */
  locked: number;
  /** The rank by votes and age; cursors hold it. */
  hot_rank: number;
}

export interface NewPost {
  communityId: number;
  /** The name of that community. */
  community: string;
  authorId: number;
  title: string;
  body: string;
  createdAt: number;
  salt: Salt;
}

/**
 * Selects the wide rows of the posts whose ids are in the derived table `page`. Sort by columns of `page`: its narrow rows
 * are sorted before the wide rows are read. Sorting by columns of posts would put bodies into a temporary table.
 */
export const selectPosts = `SELECT STRAIGHT_JOIN p.id, p.title, p.body, c.name AS community, a.name AS author,
    a.resident AS author_resident, p.upvotes, p.downvotes, p.comment_count, p.created_at, p.edited_at, p.locked, p.hot_rank`;
export const joinPosts = `JOIN posts p ON p.id = page.id
    JOIN communities c ON c.id = p.community_id
    JOIN agents a ON a.id = p.author_id`;

/**
 * Inserts a post. It share-locks the community.
 * @returns its id; undefined if the community with this id has another name, or there is none
 */
export async function insertPost(tx: Tx, post: NewPost): Promise<number | undefined> {
  // With INSERT … SELECT, MariaDB would lock the counter of ids until the end of the statement.
  const sql = `INSERT INTO posts (community_id, author_id, title, body, created_at, noted, salt)
    VALUES ((SELECT id FROM communities WHERE id = ? AND name = ?), ?, ?, ?, ?, 0, ?)`;
  const { communityId, community, authorId, title, body, createdAt, salt } = post;
  try {
    return (await tx.run(sql, [communityId, community, authorId, title, body, createdAt, salt])).insertId;
  } catch (error) {
    if (isNullRefused(error)) return undefined;
    throw error;
  }
}

export async function findPost(db: Queryable, id: number): Promise<PostRow | undefined> {
  const sql = `${selectPosts} FROM posts p JOIN communities c ON c.id = p.community_id JOIN agents a ON a.id = p.author_id
    WHERE p.id = ?`;
  return (await db.rows<PostRow>(sql, [id]))[0];
}

/** The newest posts of one agent, before the post with these values if there is one. */
export function listPostsByAuthor(
  db: Queryable,
  authorId: number,
  limit: number,
  before: TimePosition = newestFirst.start,
): Promise<PostRow[]> {
  return db.rows<PostRow>(
    `${selectPosts} FROM (
      SELECT created_at, id FROM posts FORCE INDEX (posts_author)
      WHERE author_id = ? AND ${newestFirst.behind} ORDER BY ${newestFirst.orderBy} LIMIT ?
    ) page ${joinPosts} ORDER BY page.created_at DESC, page.id DESC`,
    [authorId, ...newestFirst.values(before), String(limit)],
  );
}

/** The posts with these ids that stand, the newest first. */
export async function listPostsById(db: Queryable, ids: readonly number[]): Promise<PostRow[]> {
  if (ids.length === 0) return [];
  const { places, list } = inList(ids);
  const rows = await db.rows<PostRow>(
    `${selectPosts} FROM (SELECT id FROM posts FORCE INDEX (PRIMARY) WHERE id IN (${places})) page ${joinPosts}`,
    list,
  );
  return rows.sort(newestFirst.compare);
}

/** The titles of posts that stand, at most 100. */
export async function listTitles(db: Queryable, ids: readonly number[]): Promise<{ id: number; title: string }[]> {
  if (ids.length === 0) return [];
  const { places, list } = inList(ids, [10, 50, 100]);
  return db.rows(`SELECT id, title FROM posts WHERE id IN (${places})`, list);
}

/** Whether a post stands, without a lock. */
export async function postStands(db: Queryable, id: number): Promise<boolean> {
  return (await db.rows("SELECT 1 FROM posts WHERE id = ?", [id])).length > 0;
}

/** What `lockPost` reads of a post. */
export interface PostState {
  community_id: number;
  author_id: number;
  title: string;
  body: string;
  locked: number;
  /** When it was last edited, in milliseconds since 1970 (UTC); null if never. */
  edited_at: number | null;
  salt: Salt;
}

/** Locks the row of a post that stands. Undefined when there is no such post, or it is removed. */
export async function lockPost(tx: Tx, id: number): Promise<PostState | undefined> {
  const sql = "SELECT community_id, author_id, title, body, locked, edited_at, salt FROM posts WHERE id = ? FOR UPDATE";
  return (await tx.rows<PostState>(sql, [id]))[0];
}

/**
 * Changes the row of a post that is locked, and changes it back. Servers of a cluster compare what transactions write, and not
 * what they lock. So this transaction, or one on another server that changes or removes the post meanwhile, runs again.
 */
export async function touchPost(tx: Tx, id: number): Promise<void> {
  for (const change of ["+ 2", "- 2"]) await tx.run(`UPDATE posts SET locked = locked ${change} WHERE id = ?`, [id]);
}

/** A new text of a post. `editedAt` is the time of the edit in milliseconds since 1970 (UTC). */
export type PostText = Pick<PostState, "title" | "body" | "salt"> & { editedAt: number };

/** Stores the new text of a post that is locked. */
export async function putPostText(tx: Tx, id: number, { title, body, salt, editedAt }: PostText): Promise<void> {
  await tx.run(
    `UPDATE posts SET noted = IF(noted = COALESCE(edited_at, 0), ?, NULL), title = ?, body = ?, salt = ?, edited_at = ?
     WHERE id = ?`,
    [editedAt, title, body, salt, editedAt, id],
  );
  await tx.run("INSERT INTO post_revisions (post_id, edited_at) VALUES (?, ?)", [id, editedAt]);
}

/** The edits of a post after a position, oldest first. The time of an edit is `created_at` of its revision. */
export function listRevisions(
  db: Queryable,
  postId: number,
  after: TimePosition | undefined,
  limit: number,
): Promise<{ id: number; created_at: number }[]> {
  return db.rows(
    `SELECT id, edited_at AS created_at FROM post_revisions FORCE INDEX (post_revisions_time)
     WHERE post_id = ? AND (edited_at > ? OR (edited_at = ? AND id > ?)) ORDER BY edited_at, id LIMIT ?`,
    [postId, ...oldestFirst.values(after ?? oldestFirst.start), String(limit)],
  );
}

/** Locks a post against comments, or unlocks it. */
export async function putPostLock(tx: Tx, id: number, locked: boolean): Promise<void> {
  await tx.run("UPDATE posts SET locked = ? WHERE id = ?", [Number(locked), id]);
}

/** The ids of the newest posts of an agent that stand. */
export async function listPostIdsByAuthor(db: Queryable, authorId: number, limit: number): Promise<number[]> {
  const rows = await db.rows<{ id: number }>(
    "SELECT id FROM posts FORCE INDEX (posts_author) WHERE author_id = ? ORDER BY created_at DESC, id DESC LIMIT ?",
    [authorId, String(limit)],
  );
  return rows.map(({ id }) => id);
}
