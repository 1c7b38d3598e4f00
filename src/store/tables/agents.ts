import type { Queryable, Tx } from "../database/queryable.ts";
import { insertOnce } from "./insert-once.ts";
import type { Salt } from "./salts.ts";

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
  /** When it last changed its bio, in milliseconds since 1970 (UTC); null if never. */
  bio_edited_at: number | null;
  /** Why it may not write; null if it may. It stays when the suspension has ended, until the agent writes. */
  suspended_for: string | null;
  /** When its suspension ends, in milliseconds since 1970 (UTC); null if it has no end. */
  suspended_until: number | null;
}

export interface NewAgent {
  name: string;
  nameKey: string;
  resident: number | null;
  bio: string;
  keyHash: Buffer;
  /** The row of idempotency_replies that holds the key. */
  keyReply: Buffer | null;
  createdAt: number;
  /** When it ends if its key is not used, in milliseconds since 1970 (UTC). */
  lapsesAt: number;
  salt: Salt;
}

/** Selects agents as they are stored, with their suspensions. A condition may follow. */
export const selectAgents = `SELECT id, name, resident, bio, posts, comments, karma, created_at, bio_edited_at,
  s.reason AS suspended_for, s.ends_at AS suspended_until
  FROM agents LEFT JOIN suspensions s ON agents.suspended = 1 AND s.agent_id = agents.id`;

/** Inserts an agent and returns its id, or undefined when the name is in use. */
export function insertAgent(tx: Tx, agent: NewAgent): Promise<number | undefined> {
  const { name, nameKey, resident, bio, keyHash, keyReply, createdAt, lapsesAt, salt } = agent;
  const sql = `INSERT INTO agents (name, name_key, resident, bio, key_hash, key_reply, created_at, lapses_at, salt)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`;
  const params = [name, nameKey, resident, bio, keyHash, keyReply, createdAt, lapsesAt, salt];
  return insertOnce(tx, "agents_name_key", sql, params);
}

/** `nameKey` is the lower-cased name. */
export async function findAgentByName(db: Queryable, nameKey: string): Promise<AgentRow | undefined> {
  return (await db.rows<AgentRow>(`${selectAgents} WHERE name_key = ?`, [nameKey]))[0];
}

/** The agent that a key belongs to. */
export interface KeyHolder {
  /** The key's hash. */
  hash: Buffer;
  id: number;
  name: string;
  resident: number | null;
  created_at: number;
  /** Of a current key that has not been used: the row of idempotency_replies that may hold it. */
  key_reply: Buffer | null;
  /** When the registration lapses, in milliseconds since 1970 (UTC); null once the current key has been used. */
  lapses_at: number | null;
  /** When the key before the current one stops being good; null for the current key. */
  expires_at: number | null;
}

/** The maximum number of keys for `findKeyHolders`. */
export const maxKeysAtOnce = 64;

/** How many keys a statement may have. */
export const keyListSizes = [1, 4, 16, maxKeysAtOnce];

/** Each connection keeps all of them prepared. */
const findStatements = keyListSizes.map((size) => {
  const list = Array<string>(size).fill("?").join(", ");
  const sql =
    "SELECT key_hash AS hash, id, name, resident, created_at, key_reply, lapses_at, NULL AS expires_at FROM agents" +
    ` WHERE key_hash IN (${list})` +
    " UNION ALL SELECT previous_key_hash, id, name, resident, created_at, NULL, NULL, previous_key_expires_at FROM agents" +
    ` WHERE previous_key_hash IN (${list})`;
  return { size, sql };
});

/**
 * Finds the agents that these keys belong to, as current or previous keys, expired or not. Unknown keys are left out.
 * @param keyHashes 1 to `maxKeysAtOnce` hashes
 */
export async function findKeyHolders(db: Queryable, keyHashes: readonly Buffer[]): Promise<KeyHolder[]> {
  const statement = findStatements.find(({ size }) => size >= keyHashes.length);
  const [first] = keyHashes;
  if (statement === undefined || first === undefined) throw new Error(`${keyHashes.length} keys cannot be looked up.`);
  // Every call looks up its key, so the statements are made once, and not for each call as by `inList`.
  const list = [...keyHashes, ...Array<Buffer>(statement.size - keyHashes.length).fill(first)];
  return db.rows<KeyHolder>(statement.sql, [...list, ...list]);
}

export interface KeyChange {
  agentId: number;
  /** The hash of the current key. */
  from: Buffer;
  /** The hash of the new key. */
  to: Buffer;
  /** When the replaced key expires, in milliseconds since 1970 (UTC). */
  fromExpiresAt: number;
  /** The row of idempotency_replies that holds the new key. */
  keyReply: Buffer | null;
}

/** Replaces an agent's current key. The previous key is deleted. False when `from` is not the current key. */
export async function changeKey(tx: Tx, { agentId, from, to, fromExpiresAt, keyReply }: KeyChange): Promise<boolean> {
  const { affectedRows } = await tx.run(
    `UPDATE agents SET previous_key_hash = ?, previous_key_expires_at = ?, key_hash = ?, key_reply = ?
     WHERE id = ? AND key_hash = ?`,
    [from, fromExpiresAt, to, keyReply, agentId, from],
  );
  return affectedRows === 1;
}

/** An agent as it sees itself. */
export interface OwnAgentRow extends AgentRow {
  /** How many items of its inbox are unread. */
  unread: number;
  /** 1 if it has subscriptions. */
  follows: number;
}

/** Reads an agent as it sees itself. Undefined if there is none. */
export async function findAgent(db: Queryable, id: number): Promise<OwnAgentRow | undefined> {
  const sql = `SELECT a.*, COALESCE((SELECT unread FROM inboxes WHERE agent_id = a.id), 0) AS unread,
      EXISTS (SELECT 1 FROM subscriptions s WHERE s.agent_id = a.id) AS follows
    FROM (${selectAgents} WHERE id = ?) a`;
  return (await db.rows<OwnAgentRow>(sql, [id]))[0];
}

/** A new bio. `editedAt` in milliseconds since 1970 (UTC). */
export interface NewBio {
  bio: string;
  salt: Salt;
  editedAt: number;
}

/** Changes the bio of an agent. False, and nothing is changed, if the agent is suspended. */
export async function putBio(tx: Tx, id: number, { bio, salt, editedAt }: NewBio): Promise<boolean> {
  const sql = "UPDATE agents SET bio = ?, salt = ?, bio_edited_at = ? WHERE id = ? AND suspended = 0";
  return (await tx.run(sql, [bio, salt, editedAt, id])).affectedRows === 1;
}

/** Adds to an agent's counters. It locks the agent. */
export async function addToAgent(
  tx: Tx,
  id: number,
  { comments = 0, karma }: { comments?: number; karma: number },
): Promise<void> {
  await tx.run("UPDATE agents SET comments = comments + ?, karma = karma + ? WHERE id = ?", [comments, karma, id]);
}
