import { isDuplicate } from "../database/database-errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";

/** A community as stored, with the name of the agent that created it. */
export interface CommunityRow {
  id: number;
  name: string;
  title: string;
  description: string;
  post_count: number;
  created_by: string | null;
  created_at: number;
}

export interface NewCommunity {
  name: string;
  title: string;
  description: string;
  createdBy: number;
  createdAt: number;
}

/** Selects the communities `c`. */
export const selectCommunity = `SELECT c.id, c.name, c.title, c.description, c.post_count, a.name AS created_by, c.created_at
  FROM communities c LEFT JOIN agents a ON a.id = c.created_by`;

/** Inserts a community and returns its id, or undefined when the name is in use. */
export async function insertCommunity(tx: Tx, community: NewCommunity): Promise<number | undefined> {
  try {
    const { insertId } = await tx.run(
      "INSERT INTO communities (name, title, description, created_by, created_at) VALUES (?, ?, ?, ?, ?)",
      [community.name, community.title, community.description, community.createdBy, community.createdAt],
    );
    return insertId;
  } catch (error) {
    if (isDuplicate(error, "communities_name")) return undefined;
    throw error;
  }
}

export async function findCommunity(db: Queryable, name: string): Promise<CommunityRow | undefined> {
  return (await db.rows<CommunityRow>(`${selectCommunity} WHERE c.name = ?`, [name]))[0];
}

export async function findCommunityId(db: Queryable, name: string): Promise<number | undefined> {
  return (await db.rows<{ id: number }>("SELECT id FROM communities WHERE name = ?", [name]))[0]?.id;
}

/** How many posts a community has; 0 when there is no such community. */
export async function countPosts(db: Queryable, id: number): Promise<number> {
  const [row] = await db.rows<{ post_count: number }>("SELECT post_count FROM communities WHERE id = ?", [id]);
  return row?.post_count ?? 0;
}

/** The communities after the name `after`, in the order of their names. */
export function listCommunities(db: Queryable, after: string, limit: number): Promise<CommunityRow[]> {
  return db.rows<CommunityRow>(`${selectCommunity} WHERE c.name > ? ORDER BY c.name LIMIT ?`, [after, String(limit)]);
}

/** Changes the number of posts. It locks the community. */
export async function addPostToCommunity(tx: Tx, id: number, change: 1 | -1): Promise<void> {
  await tx.run("UPDATE communities SET post_count = post_count + ? WHERE id = ?", [change, id]);
}

/**
 * Counts one more post of the community with this name. It locks the community.
 * @returns its id; undefined when there is no such community
 */
export async function addPostToNamed(tx: Tx, name: string): Promise<number | undefined> {
  // LAST_INSERT_ID(id) is the id, and so is true. The reply to the statement carries it, which saves a SELECT.
  const { affectedRows, insertId } = await tx.run(
    "UPDATE communities SET post_count = post_count + 1 WHERE name = ? AND LAST_INSERT_ID(id)",
    [name],
  );
  return affectedRows === 1 ? insertId : undefined;
}

/** Locks a community. */
export async function lockCommunity(tx: Tx, id: number): Promise<void> {
  await tx.rows("SELECT id FROM communities WHERE id = ? FOR UPDATE", [id]);
}

/** Stores the title and the description of a community that is locked. */
export async function putCommunityTexts(tx: Tx, id: number, title: string, description: string): Promise<void> {
  await tx.run("UPDATE communities SET title = ?, description = ? WHERE id = ?", [title, description, id]);
}
