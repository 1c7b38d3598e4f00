import { StoredDamage } from "../../errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";
import { isTime } from "./one-row.ts";

/** The log of this board. */
export interface LogIdentity {
  origin: string;
  vkey: string;
  /** From when on writes add entries, in milliseconds since 1970 (UTC). */
  beginsAt: number;
  /** How far the import of rows from before has come, as in `post 1200`; empty when it has ended. */
  imported: string;
}

/** The log; undefined while none has begun. @throws StoredDamage for a row whose time cannot be right */
export async function readLogIdentity(db: Queryable): Promise<LogIdentity | undefined> {
  const sql = "SELECT origin, vkey, begins_at AS beginsAt, imported FROM log_identity WHERE id = 1";
  const [row] = await db.rows<LogIdentity>(sql);
  if (row === undefined || isTime(row.beginsAt)) return row;
  throw new StoredDamage("The row of log_identity is damaged; restore it from a backup.");
}

/**
 * Begins the log. Several replicas may try at once: the transaction of one succeeds.
 * @returns false, and nothing is changed, if there is one
 */
export async function insertLogIdentity(tx: Tx, identity: LogIdentity): Promise<boolean> {
  const { origin, vkey, beginsAt, imported } = identity;
  const { affectedRows } = await tx.run(
    "INSERT IGNORE INTO log_identity (id, origin, vkey, begins_at, imported) VALUES (1, ?, ?, ?, ?)",
    [origin, vkey, beginsAt, imported],
  );
  return affectedRows === 1;
}

/** Stores how far the import has come; empty when it has ended. */
export async function putImported(tx: Tx, imported: string): Promise<void> {
  await tx.run("UPDATE log_identity SET imported = ? WHERE id = 1", [imported]);
}
