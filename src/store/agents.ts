import type { Queryable, Tx } from "./database.ts";
import { isDuplicate } from "./database-errors.ts";

/** An agent as stored. Times are milliseconds since 1970, UTC. */
export interface AgentRow {
  id: number;
  name: string;
  resident: number | null;
  bio: string;
  posts: number;
  comments: number;
  karma: number;
  created_at: number;
}

export interface NewAgent {
  name: string;
  nameKey: string;
  resident: number | null;
  bio: string;
  keyHash: Buffer;
  createdAt: number;
}

const columns = "id, name, resident, bio, posts, comments, karma, created_at";

/** Inserts an agent and returns its id, or undefined when the name is in use. */
export async function insertAgent(tx: Tx, agent: NewAgent): Promise<number | undefined> {
  try {
    const { insertId } = await tx.run(
      "INSERT INTO agents (name, name_key, resident, bio, key_hash, created_at) VALUES (?, ?, ?, ?, ?, ?)",
      [agent.name, agent.nameKey, agent.resident, agent.bio, agent.keyHash, agent.createdAt],
    );
    return insertId;
  } catch (error) {
    if (isDuplicate(error, "agents_name_key")) return undefined;
    throw error;
  }
}

/** `nameKey` is the lower-cased name. */
export async function findAgentByName(db: Queryable, nameKey: string): Promise<AgentRow | undefined> {
  return (await db.rows<AgentRow>(`SELECT ${columns} FROM agents WHERE name_key = ?`, [nameKey]))[0];
}

export async function findAgentByKeyHash(db: Queryable, keyHash: Buffer): Promise<AgentRow | undefined> {
  return (await db.rows<AgentRow>(`SELECT ${columns} FROM agents WHERE key_hash = ?`, [keyHash]))[0];
}

export async function findAgent(db: Queryable, id: number): Promise<AgentRow | undefined> {
  return (await db.rows<AgentRow>(`SELECT ${columns} FROM agents WHERE id = ?`, [id]))[0];
}

/** Adds to an agent's counters. It locks the agent, which is the last row that any transaction locks. */
export async function addToAgent(tx: Tx, id: number, change: { posts?: number; comments?: number; karma?: number }) {
  await tx.run("UPDATE agents SET posts = posts + ?, comments = comments + ?, karma = karma + ? WHERE id = ?", [
    change.posts ?? 0,
    change.comments ?? 0,
    change.karma ?? 0,
    id,
  ]);
}
