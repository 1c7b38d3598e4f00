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

/** A row of ledger_verification, as it is stored. */
export interface VerificationRow {
  id: number;
  verified_seq: number;
  verified_hash: string;
  round: number;
  alarm_seq: number | null;
  alarm_fault: string | null;
  alarm_message: string | null;
  alarm_at: number | null;
}

/** The rows about the last verifications, up to 10. There is at most one, with the id 1. */
export function listVerifications(db: Queryable): Promise<VerificationRow[]> {
  return db.rows<VerificationRow>(
    `SELECT id, verified_seq, verified_hash, round, alarm_seq, alarm_fault, alarm_message, alarm_at
     FROM ledger_verification ORDER BY id LIMIT 10`,
  );
}

/** Forgets which receipt was found good last. Later verifications find out again. */
export async function forgetVerified(tx: Tx, { verified_seq, verified_hash }: VerificationRow): Promise<void> {
  await tx.run(
    `UPDATE ledger_verification SET verified_seq = 0, verified_hash = REPEAT('0', 64), verified_at = 0
     WHERE id = 1 AND verified_seq = ? AND verified_hash = ?`,
    [verified_seq, verified_hash],
  );
}

/** Ends the alarm, unless something was found since the row was read. */
export async function endAlarm(tx: Tx, { round }: VerificationRow): Promise<void> {
  await tx.run(
    `UPDATE ledger_verification SET alarm_seq = NULL, alarm_fault = NULL, alarm_message = NULL, alarm_at = NULL
     WHERE id = 1 AND round = ?`,
    [round],
  );
}

/** Sets the time of the head, in milliseconds since 1970 (UTC), if it is still receipt `seq`. */
export async function putHeadTime(tx: Tx, seq: number, ts: number): Promise<void> {
  await tx.run("UPDATE ledger_head SET ts = ? WHERE id = 1 AND seq = ?", [ts, seq]);
}

export async function putEpoch(tx: Tx, { epoch, first_day }: Omit<EpochRow, "id">): Promise<void> {
  await tx.run("REPLACE INTO ledger_epoch (id, epoch, first_day) VALUES (1, ?, ?)", [epoch, first_day]);
}
