// Reads and repairs for the check of the ledger's tables.
import type { Queryable, Tx } from "../database/queryable.ts";
import type { Head } from "../tables/receipts.ts";
import type { Calendar } from "../tables/seals.ts";
import type { VerificationRow } from "../tables/verifications.ts";

/** The stored head, damaged or not. */
export async function findHead(db: Queryable): Promise<Head | undefined> {
  return (await db.rows<Head>("SELECT seq, hash, ts FROM ledger_head WHERE id = 1"))[0];
}

/** The stored calendar, damaged or not. */
export async function findCalendar(db: Queryable): Promise<Calendar | undefined> {
  return (await db.rows<Calendar>("SELECT epoch, first_day FROM ledger_epoch WHERE id = 1"))[0];
}

/** Lets the next verification begin at the first receipt, unless another verification was recorded since the row was read. */
export async function forgetVerified(tx: Tx, { verified_seq, verified_hash }: VerificationRow): Promise<void> {
  await tx.run(
    `UPDATE ledger_verification SET verified_seq = 0, verified_hash = REPEAT('0', 64), verified_at = 0
     WHERE id = 1 AND verified_seq = ? AND verified_hash = ?`,
    [verified_seq, verified_hash],
  );
}

/** Ends the alarm, unless another fault was found since the row was read. */
export async function endAlarm(tx: Tx, { round }: VerificationRow): Promise<void> {
  await tx.run(
    `UPDATE ledger_verification SET alarm_seq = NULL, alarm_fault = NULL, alarm_message = NULL, alarm_at = NULL
     WHERE id = 1 AND round = ?`,
    [round],
  );
}

/** Sets the time of the head, in milliseconds since 1970 (UTC), if the head is still receipt `seq`. */
export async function putHeadTime(tx: Tx, seq: number, ts: number): Promise<void> {
  await tx.run("UPDATE ledger_head SET ts = ? WHERE id = 1 AND seq = ?", [ts, seq]);
}

export async function putEpoch(tx: Tx, { epoch, first_day }: Calendar): Promise<void> {
  await tx.run("REPLACE INTO ledger_epoch (id, epoch, first_day) VALUES (1, ?, ?)", [epoch, first_day]);
}
