// What a check of the ledger's tables reads and repairs.
import type { Queryable, Tx } from "../database/queryable.ts";

export interface HeadRow {
  id: number;
  seq: number;
  hash: string;
  ts: number;
}

export interface EpochRow {
  id: number;
  epoch: string;
  first_day: string;
}

/** The rows of the head, up to 10. There should be one, with the id 1. */
export function listHeads(db: Queryable): Promise<HeadRow[]> {
  return db.rows<HeadRow>("SELECT id, seq, hash, ts FROM ledger_head ORDER BY id LIMIT 10");
}

/** The rows of the calendar, up to 10. There should be one, with the id 1. */
export function listEpochs(db: Queryable): Promise<EpochRow[]> {
  return db.rows<EpochRow>("SELECT id, epoch, first_day FROM ledger_epoch ORDER BY id LIMIT 10");
}

/** Sets the time of the head, in milliseconds since 1970 (UTC), if it is still receipt `seq`. */
export async function putHeadTime(tx: Tx, seq: number, ts: number): Promise<void> {
  await tx.run("UPDATE ledger_head SET ts = ? WHERE id = 1 AND seq = ?", [ts, seq]);
}

export async function putEpoch(tx: Tx, { epoch, first_day }: Omit<EpochRow, "id">): Promise<void> {
  await tx.run("REPLACE INTO ledger_epoch (id, epoch, first_day) VALUES (1, ?, ?)", [epoch, first_day]);
}
