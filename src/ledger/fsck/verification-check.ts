// Checks what is stored about the last verifications. It follows from the receipts.
import { isHash, zeroHash } from "../../receipt/document.ts";
import type { Queryable, Tx } from "../../store/database/queryable.ts";
import { compare, type Finding, refuse } from "../../store/recount/finding.ts";
import { endAlarm, forgetVerified } from "../../store/recount/ledger.ts";
import { findReceipt } from "../../store/tables/receipts.ts";
import { findVerification, type VerificationRow } from "../../store/tables/verifications.ts";
import type { Repairable } from "./repairable.ts";

const key = { id: 1 };

/**
 * Compares the stored results of verifications with the receipts.
 * @param before the row as it was before the whole chain was verified. If a service has recorded a finding since, the alarm
 * stays
 * @param isIntact whether the whole chain verifies
 */
export async function findWrongVerification(
  db: Queryable,
  before: VerificationRow | undefined,
  isIntact: boolean,
): Promise<Repairable[]> {
  const row = await findVerification(db);
  if (row === undefined) return [];
  const isSettled = before?.round === row.round;
  return [...(await checkVerified(db, row)), ...(isIntact && isSettled ? checkAlarm(row) : [])];
}

/** The receipt up to which the chain was verified must exist and have the recorded hash. */
async function checkVerified(db: Queryable, row: VerificationRow): Promise<Repairable[]> {
  const repair = (tx: Tx) => forgetVerified(tx, row);
  return (await compareVerified(db, row)).map((finding) => ({ finding, repair }));
}

async function compareVerified(db: Queryable, row: VerificationRow): Promise<Finding[]> {
  const { verified_seq: seq, verified_hash: hash } = row;
  const subject = "ledger_verification.verified_hash";
  if (seq === 0) return compare(subject, key, hash, zeroHash);
  const receipt = await findReceipt(db, seq);
  const isMissing = receipt === undefined;
  if (isMissing) return [{ subject: "ledger_verification.verified_seq", key, problem: `there is no receipt ${seq}` }];
  const problem = `stored ${printable(hash)}, but receipt ${seq} has the hash ${printable(receipt.hash)}`;
  return refuse(receipt.hash !== hash, subject, key, problem);
}

/** The chain verifies, so there is no alarm. */
function checkAlarm(row: VerificationRow): Repairable[] {
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
