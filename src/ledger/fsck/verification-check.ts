// Checks what is stored about the last verifications. It follows from the receipts.
import { isHash } from "../../receipt/document.ts";
import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { compare } from "../../store/recount/finding.ts";
import { endAlarm, findVerification, forgetVerified, type VerificationRow } from "../../store/recount/ledger.ts";
import { findReceipt } from "../../store/tables/receipts.ts";
import type { RepairableFinding } from "./index-check.ts";

const zeros = "0".repeat(64);
const key = { id: 1 };

/**
 * Compares the stored results of verifications with the receipts.
 * @param before the row before the whole chain was verified. Services may record a finding meanwhile
 * @param isIntact whether the whole chain verifies
 */
export async function findWrongVerification(
  db: Queryable,
  before: VerificationRow | undefined,
  isIntact: boolean,
): Promise<RepairableFinding[]> {
  const row = await findVerification(db);
  if (row === undefined) return [];
  const isSettled = before?.round === row.round;
  return [...(await checkVerified(db, row)), ...(isIntact && isSettled ? checkAlarm(row) : [])];
}

/** The receipt that was found good last must exist and have the recorded hash. */
async function checkVerified(db: Queryable, row: VerificationRow): Promise<RepairableFinding[]> {
  const { verified_seq: seq, verified_hash: hash } = row;
  const repair = (tx: Tx) => forgetVerified(tx, row);
  if (seq === 0) {
    return compare("ledger_verification.verified_hash", key, printable(hash), zeros).map((finding) => ({
      finding,
      repair,
    }));
  }
  const receipt = await findReceipt(db, seq);
  if (receipt === undefined) {
    return [
      {
        finding: { subject: "ledger_verification.verified_seq", key, problem: `there is no receipt ${seq}` },
        repair,
      },
    ];
  }
  if (receipt.hash === hash) return [];
  const problem = `stored ${printable(hash)}, but receipt ${seq} has the hash ${printable(receipt.hash)}`;
  return [{ finding: { subject: "ledger_verification.verified_hash", key, problem }, repair }];
}

/** The chain verifies, so there is no alarm. */
function checkAlarm(row: VerificationRow): RepairableFinding[] {
  const { alarm_seq, alarm_fault, alarm_message, alarm_at } = row;
  const isEmpty = [alarm_seq, alarm_fault, alarm_message, alarm_at].every((value) => value === null);
  if (isEmpty) return [];
  const problem =
    alarm_seq === null
      ? "a part of an alarm is stored, without its receipt"
      : `the alarm names receipt ${alarm_seq}, but the whole chain verifies`;
  const finding = { subject: "ledger_verification.alarm_seq", key, problem };
  return [{ finding, repair: (tx) => endAlarm(tx, row) }];
}

/** A damaged hash may hold any characters. */
function printable(hash: string): string {
  return isHash(hash) ? hash : JSON.stringify(hash);
}
