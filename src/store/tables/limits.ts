import type { Queryable, Tx } from "../database/queryable.ts";

/** Whom a limit applies to: an agent by its id, or a client address. */
export type Subject = number | string;

// For an existing row, LAST_INSERT_ID(value) makes the new value the statement's insert id. For a new row that id is 0.
const advanceAgent = `INSERT INTO agent_limits (agent_id, kind, arrival) VALUES (?, ?, ?)
  ON DUPLICATE KEY UPDATE arrival = LAST_INSERT_ID(GREATEST(arrival, ?) + ?)`;
const advanceAddress = `INSERT INTO address_limits (address, kind, arrival) VALUES (?, ?, ?)
  ON DUPLICATE KEY UPDATE arrival = LAST_INSERT_ID(GREATEST(arrival, ?) + ?)`;
const lowerAgent = "UPDATE agent_limits SET arrival = ? WHERE agent_id = ? AND kind = ? AND arrival > ?";
const lowerAddress = "UPDATE address_limits SET arrival = ? WHERE address = ? AND kind = ? AND arrival > ?";

/**
 * One step of the generic cell rate algorithm (see rate-limits/gcra.ts): advances the theoretical arrival time by `interval`,
 * and returns it. All times are in microseconds. It locks the row. When the call is refused, the transaction rolls back.
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

/** More than the number of limits that an agent has. */
const maxLimits = 64;

/** The theoretical arrival times of an agent, in microseconds since 1970, by the kinds of its limits. */
export async function findArrivals(db: Queryable, agentId: number): Promise<Map<string, number>> {
  const sql = "SELECT kind, arrival FROM agent_limits WHERE agent_id = ? LIMIT ?";
  const rows = await db.rows<{ kind: string; arrival: number }>(sql, [agentId, String(maxLimits)]);
  return new Map(rows.map(({ kind, arrival }) => [kind, arrival]));
}

/** Sets the theoretical arrival time back to `to` if it is later. */
export async function lowerLimit(tx: Tx, subject: Subject, kind: string, to: number): Promise<void> {
  await tx.run(typeof subject === "number" ? lowerAgent : lowerAddress, [to, subject, kind, to]);
}

/**
 * Deletes up to `limit` addresses that have their whole burst again at `now`, like unknown addresses.
 * @param now microseconds since 1970 (UTC)
 * @returns how many
 */
export async function sweepAddresses(tx: Tx, now: number, limit: number): Promise<number> {
  const { affectedRows } = await tx.run("DELETE FROM address_limits WHERE arrival < ? ORDER BY arrival LIMIT ?", [
    now,
    String(limit),
  ]);
  return affectedRows;
}
