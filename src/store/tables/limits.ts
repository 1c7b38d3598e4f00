import type { Tx } from "../database/queryable.ts";

/** Whom a limit counts for: an agent by its id, or a client address. */
export type Subject = number | string;

// LAST_INSERT_ID(value) hands out, as the statement's insert id, what an existing row is set to; it is 0 for a new one.
const advanceAgent = `INSERT INTO agent_limits (agent_id, kind, arrival) VALUES (?, ?, ?)
  ON DUPLICATE KEY UPDATE arrival = LAST_INSERT_ID(GREATEST(arrival, ?) + ?)`;
const advanceAddress = `INSERT INTO address_limits (address, kind, arrival) VALUES (?, ?, ?)
  ON DUPLICATE KEY UPDATE arrival = LAST_INSERT_ID(GREATEST(arrival, ?) + ?)`;
const lowerAgent = "UPDATE agent_limits SET arrival = ? WHERE agent_id = ? AND kind = ? AND arrival > ?";
const lowerAddress = "UPDATE address_limits SET arrival = ? WHERE address = ? AND kind = ? AND arrival > ?";

/**
 * One step of the generic cell rate algorithm (see limits/gcra.ts): moves the theoretical arrival time on by `interval`, and
 * returns it. All times are in microseconds. It locks the row; a transaction that finds the call refused rolls back.
 */
export async function advanceLimit(
  tx: Tx,
  subject: Subject,
  kind: string,
  now: number,
  interval: number,
): Promise<number> {
  const sql = typeof subject === "number" ? advanceAgent : advanceAddress;
  const { insertId } = await tx.run(sql, [subject, kind, now + interval, now, interval]);
  return insertId === 0 ? now + interval : insertId;
}

/** Sets a theoretical arrival time that lies after `to` back to `to`. */
export async function lowerLimit(tx: Tx, subject: Subject, kind: string, to: number): Promise<void> {
  await tx.run(typeof subject === "number" ? lowerAgent : lowerAddress, [to, subject, kind, to]);
}

/** Deletes addresses whose limits have run out before `now`: they have the whole burst again, as if they were unknown. */
export async function sweepAddresses(tx: Tx, now: number, most: number): Promise<number> {
  const { affectedRows } = await tx.run("DELETE FROM address_limits WHERE arrival < ? LIMIT ?", [now, String(most)]);
  return affectedRows;
}
