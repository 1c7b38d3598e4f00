import { randomBytes } from "node:crypto";
import type { Queryable, Tx } from "../database/queryable.ts";
import { type KeyHolder, keyListSizes } from "./agents.ts";
import { inList } from "./id-lists.ts";
import type { Salt } from "./salts.ts";

/*
 * The keys of a suspended agent move from `agents` to `suspensions`. So the look-up of keys costs nothing more, and a
 * version of Stoa that knows no suspensions refuses the keys.
 */

/** No key has such a hash. The zeros say that the agent has no key in this place. */
function noKeyHash(): Buffer {
  return Buffer.concat([Buffer.alloc(16), randomBytes(16)]);
}

/** Why an agent may not write, and until when. */
export interface Suspension {
  /** A word of the contract in lower case: `spam`. */
  reason: string;
  /** In milliseconds since 1970 (UTC); null for ever. */
  endsAt: number | null;
}

/** An agent, and its suspension. */
export interface SuspendedKeyHolder extends KeyHolder {
  /** Null if the agent is not suspended. */
  reason: string | null;
  ends_at: number | null;
}

const selectHolders = (hash: string, expires: string, list: string) =>
  `SELECT s.${hash} AS hash, a.id, a.name, a.resident, a.created_at, a.key_reply, NULL AS lapses_at,
     ${expires} AS expires_at, s.reason, s.ends_at
   FROM suspensions s JOIN agents a ON a.id = s.agent_id WHERE s.${hash} IN (${list})`;

const selectUnsuspended = (hash: string, expires: string, ofCurrent: string, list: string) =>
  `SELECT ${hash} AS hash, id, name, resident, created_at, ${ofCurrent}, ${expires} AS expires_at, NULL AS reason,
     NULL AS ends_at
   FROM agents WHERE ${hash} IN (${list})`;

/**
 * Finds the agents that these keys belong to, among the suspended ones and the others, by one statement: a suspension may
 * end after the others were looked through, and then its keys are with them again.
 * @param keyHashes 1 to `maxKeysAtOnce` hashes
 */
export async function findSuspendedHolders(db: Queryable, keyHashes: readonly Buffer[]): Promise<SuspendedKeyHolder[]> {
  const { places, list } = inList(keyHashes, keyListSizes);
  const selects = [
    selectHolders("key_hash", "NULL", places),
    selectHolders("previous_key_hash", "s.previous_key_expires_at", places),
    selectUnsuspended("key_hash", "NULL", "key_reply, lapses_at", places),
    selectUnsuspended("previous_key_hash", "previous_key_expires_at", "NULL, NULL", places),
  ];
  return db.rows<SuspendedKeyHolder>(selects.join(" UNION ALL "), [...list, ...list, ...list, ...list]);
}

/** What is known of an agent whose row is locked. */
export interface LockedAgent {
  id: number;
  name: string;
  /** The stored reply that may hold its current key. */
  key_reply: Buffer | null;
  /** When its registration lapses, in milliseconds since 1970 (UTC); null once its key has been used. */
  lapses_at: number | null;
  /** The salt of its profile. */
  salt: Salt;
}

const selectLocked = "SELECT id, name, key_reply, lapses_at, salt FROM agents";

/** Locks the row of an agent, by its lower-cased name. */
export async function lockAgent(tx: Tx, nameKey: string): Promise<LockedAgent | undefined> {
  return (await tx.rows<LockedAgent>(`${selectLocked} WHERE name_key = ? FOR UPDATE`, [nameKey]))[0];
}

/** Locks the row of an agent, by its id. */
export async function lockAgentById(tx: Tx, id: number): Promise<LockedAgent | undefined> {
  return (await tx.rows<LockedAgent>(`${selectLocked} WHERE id = ? FOR UPDATE`, [id]))[0];
}

export async function findSuspension(db: Queryable, agentId: number): Promise<Suspension | undefined> {
  const sql = "SELECT reason, ends_at AS endsAt FROM suspensions WHERE agent_id = ?";
  return (await db.rows<Suspension>(sql, [agentId]))[0];
}

/** Suspends an agent that is locked, and not suspended. */
export async function insertSuspension(tx: Tx, agentId: number, { reason, endsAt }: Suspension): Promise<void> {
  await tx.run(
    `INSERT INTO suspensions (agent_id, reason, ends_at, key_hash, previous_key_hash, previous_key_expires_at)
     SELECT id, ?, ?, key_hash, previous_key_hash, previous_key_expires_at FROM agents WHERE id = ?`,
    [reason, endsAt, agentId],
  );
  await tx.run(
    `UPDATE agents SET suspended = 1, key_hash = ?, previous_key_hash = NULL, previous_key_expires_at = NULL WHERE id = ?`,
    [noKeyHash(), agentId],
  );
}

/** Replaces the reason and the end of a suspension. */
export async function putSuspension(tx: Tx, agentId: number, { reason, endsAt }: Suspension): Promise<void> {
  await tx.run("UPDATE suspensions SET reason = ?, ends_at = ? WHERE agent_id = ?", [reason, endsAt, agentId]);
}

/** Ends the suspension of an agent that is locked, and gives its keys back. */
export async function deleteSuspension(tx: Tx, agentId: number): Promise<void> {
  interface Keys {
    key_hash: Buffer | null;
    previous_key_hash: Buffer | null;
    previous_key_expires_at: number | null;
  }
  const [keys] = await tx.rows<Keys>(
    "SELECT key_hash, previous_key_hash, previous_key_expires_at FROM suspensions WHERE agent_id = ? FOR UPDATE",
    [agentId],
  );
  if (keys === undefined) return;
  await tx.run("DELETE FROM suspensions WHERE agent_id = ?", [agentId]);
  await tx.run(
    `UPDATE agents SET suspended = 0, key_hash = COALESCE(?, key_hash), previous_key_hash = ?, previous_key_expires_at = ?
     WHERE id = ?`,
    [keys.key_hash, keys.previous_key_hash, keys.previous_key_expires_at, agentId],
  );
}

/** Revokes every key of an agent that is locked. @returns whether it had one */
export async function revokeKeys(tx: Tx, agentId: number): Promise<boolean> {
  const ofAgent = await tx.run(
    `UPDATE agents SET key_hash = ?, key_reply = NULL, previous_key_hash = NULL, previous_key_expires_at = NULL
     WHERE id = ? AND LEFT(key_hash, 16) <> ?`,
    [noKeyHash(), agentId, Buffer.alloc(16)],
  );
  const ofSuspension = await tx.run(
    `UPDATE suspensions SET key_hash = NULL, previous_key_hash = NULL, previous_key_expires_at = NULL
     WHERE agent_id = ? AND LEFT(key_hash, 16) <> ?`,
    [agentId, Buffer.alloc(16)],
  );
  return ofAgent.affectedRows + ofSuspension.affectedRows > 0;
}

/**
 * Revokes one key of an agent that is locked. If it is the current key, the previous one takes its place while its grace lasts.
 * @returns which key it was; undefined if it is none of the agent's any more
 */
export async function revokeKey(
  tx: Tx,
  agentId: number,
  hash: Buffer,
  now: number,
): Promise<"current" | "previous" | undefined> {
  const withoutPrevious = "previous_key_hash = NULL, previous_key_expires_at = NULL";
  let revoked: "current" | "previous" | undefined;
  for (const { table, id, none, more } of [
    { table: "agents", id: "id", none: noKeyHash(), more: "key_reply = NULL," },
    { table: "suspensions", id: "agent_id", none: null, more: "" },
  ]) {
    const { affectedRows } = await tx.run(
      `UPDATE ${table} SET key_hash = IF(previous_key_expires_at > ?, previous_key_hash, ?), ${more} ${withoutPrevious}
       WHERE ${id} = ? AND key_hash = ?`,
      [now, none, agentId, hash],
    );
    if (affectedRows > 0) revoked = "current";
    const ofPrevious = `UPDATE ${table} SET ${withoutPrevious} WHERE ${id} = ? AND previous_key_hash = ?`;
    if ((await tx.run(ofPrevious, [agentId, hash])).affectedRows > 0) revoked ??= "previous";
  }
  return revoked;
}

/** The name that stands for an agent that was erased. No agent can register it. */
export const erasedName = "[removed]";

/**
 * Erases the profile of an agent that is locked, and whose keys are revoked. Its name stays taken. `endStandings` ends its
 * moderation.
 */
export async function eraseAgentRow(tx: Tx, agentId: number): Promise<void> {
  await tx.run("DELETE FROM suspensions WHERE agent_id = ?", [agentId]);
  const erased =
    "name = ?, resident = NULL, bio = '', salt = NULL, bio_edited_at = NULL, lapses_at = NULL, suspended = 1";
  await tx.run(`UPDATE agents SET ${erased} WHERE id = ?`, [erasedName, agentId]);
}
