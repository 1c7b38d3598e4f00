// Agents whose keys have not been used. Their registrations lapse, and then their names are free again.
import type { Queryable, Tx } from "../database/queryable.ts";
import { erasedName } from "./suspensions.ts";

/**
 * Records that an agent has used its key: its registration does not lapse, and the row `keyReply` of idempotency_replies does
 * not hold its key any more.
 * @returns false if the agent has ended meanwhile
 */
export async function putKeyUse(tx: Tx, agentId: number, keyReply: Buffer | null): Promise<boolean> {
  const { affectedRows } = await tx.run(
    `UPDATE agents SET lapses_at = NULL, key_reply = IF(key_reply = ?, NULL, key_reply)
     WHERE id = ? AND name <> '${erasedName}'`,
    [keyReply, agentId],
  );
  return affectedRows === 1;
}

/** The agents whose registrations lapse at `now` or before, those first that are due longest. */
export async function listLapsing(db: Queryable, now: number, limit: number): Promise<number[]> {
  const sql = "SELECT id FROM agents FORCE INDEX (agents_lapse) WHERE lapses_at <= ? ORDER BY lapses_at, id LIMIT ?";
  return (await db.rows<{ id: number }>(sql, [now, String(limit)])).map(({ id }) => id);
}

/** Tables that have rows of an agent that has done something, or that somebody has appointed. Each look is at one row. */
const traces = [
  "agent_limits WHERE agent_id",
  "community_moderators WHERE agent_id",
  "communities WHERE created_by",
  "reports WHERE agent_id",
  "removed_posts WHERE author_id",
  "removed_comments WHERE author_id",
]
  .map((rows) => `EXISTS (SELECT 1 FROM ${rows} = a.id LIMIT 1)`)
  .join(" OR ");

/**
 * Whether an agent that is locked has done more than registering. Older versions of Stoa do not record that a key is used, so
 * this looks for what the agent has left.
 */
export async function hasTraces(tx: Tx, agentId: number): Promise<boolean> {
  const sql = `SELECT suspended = 1 OR posts > 0 OR comments > 0 OR bio_edited_at IS NOT NULL
      OR previous_key_hash IS NOT NULL OR ${traces} AS used FROM agents a WHERE id = ?`;
  return (await tx.rows<{ used: number }>(sql, [agentId]))[0]?.used === 1;
}

/** Frees the name of an agent that is erased. The row gets a key that no name has. */
export async function freeName(tx: Tx, agentId: number): Promise<void> {
  await tx.run("UPDATE agents SET name_key = ? WHERE id = ?", [`[${agentId}]`, agentId]);
}
