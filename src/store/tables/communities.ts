import type { Queryable, Tx } from "../database/queryable.ts";
import { insertOnce } from "./insert-once.ts";
import { postCount } from "./post-counts.ts";
import type { Salt } from "./salts.ts";

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
  salt: Salt;
}

/** Selects the communities `c`. */
export const selectCommunity = `SELECT c.id, c.name, c.title, c.description, ${postCount} AS post_count,
    a.name AS created_by, c.created_at
  FROM communities c LEFT JOIN agents a ON a.id = c.created_by`;

/** Inserts a community and returns its id, or undefined when the name is in use. */
export function insertCommunity(tx: Tx, community: NewCommunity): Promise<number | undefined> {
  const { name, title, description, createdBy, createdAt, salt } = community;
  const sql =
    "INSERT INTO communities (name, title, description, created_by, created_at, salt) VALUES (?, ?, ?, ?, ?, ?)";
  return insertOnce(tx, "communities_name", sql, [name, title, description, createdBy, createdAt, salt]);
}

export async function findCommunity(db: Queryable, name: string): Promise<CommunityRow | undefined> {
  return (await db.rows<CommunityRow>(`${selectCommunity} WHERE c.name = ?`, [name]))[0];
}

export async function findCommunityId(db: Queryable, name: string): Promise<number | undefined> {
  return (await db.rows<{ id: number }>("SELECT id FROM communities WHERE name = ?", [name]))[0]?.id;
}

/** The communities after the name `after`, in the order of their names. */
export function listCommunities(db: Queryable, after: string, limit: number): Promise<CommunityRow[]> {
  return db.rows<CommunityRow>(`${selectCommunity} WHERE c.name > ? ORDER BY c.name LIMIT ?`, [after, String(limit)]);
}

/** The communities that an agent created, after the id `after`, in the order of their ids. */
export function listCommunitiesBy(
  db: Queryable,
  creatorId: number,
  limit: number,
  after = 0,
): Promise<(CommunityRow & { id: number })[]> {
  const sql = `${selectCommunity} JOIN (
      SELECT id FROM communities FORCE INDEX (communities_creator) WHERE created_by = ? AND id > ? ORDER BY id LIMIT ?
    ) page ON page.id = c.id ORDER BY c.id`;
  return db.rows(sql, [creatorId, after, String(limit)]);
}

/** Locks a community against writing to its row, which repairs of its count do. */
export async function shareCommunity(tx: Tx, id: number): Promise<void> {
  await tx.rows("SELECT id FROM communities WHERE id = ? LOCK IN SHARE MODE", [id]);
}

/** Locks a community. @returns its salt, and the agent that created it; undefined if there is no such community */
export async function lockCommunity(
  tx: Tx,
  id: number,
): Promise<{ salt: Salt; created_by: number | null } | undefined> {
  const sql = "SELECT salt, created_by FROM communities WHERE id = ? FOR UPDATE";
  return (await tx.rows<{ salt: Salt; created_by: number | null }>(sql, [id]))[0];
}

/** Stores the title and the description of a community that is locked. */
export async function putCommunityTexts(
  tx: Tx,
  id: number,
  { title, description, salt }: { title: string; description: string; salt: Salt },
): Promise<void> {
  const sql = "UPDATE communities SET title = ?, description = ?, salt = ? WHERE id = ?";
  await tx.run(sql, [title, description, salt, id]);
}
