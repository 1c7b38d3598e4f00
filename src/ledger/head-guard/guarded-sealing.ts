import type { Database } from "../../store/database/database.ts";
import { findReceipt, findReceiptBeside, type ReceiptRow } from "../../store/tables/receipts.ts";
import type { Sealing } from "../sealing/append.ts";
import { SealingBlocked } from "../sealing/seal-checks.ts";
import { type HeadGuard, ServedHeadMissing } from "./head-guard.ts";

/**
 * Runs a transaction that may append receipts, and lets the guard store the newest of them.
 * @param begin makes the sealing of a transaction
 * @returns the result of `work`; and a promise that resolves when the guard has stored the receipt
 * @throws SealingBlocked when the chain has lost a receipt that was served
 */
export async function sealWithGuard<Result>(
  {
    db,
    guard,
    signal,
    isClaimed,
  }: { db: Database; guard: HeadGuard | undefined; signal: AbortSignal; isClaimed: boolean },
  begin: (tx: Sealing["tx"]) => Sealing,
  work: (sealing: Sealing) => Promise<Result>,
): Promise<{ result: Result; stored: Promise<void> | undefined }> {
  let sealing: Sealing | undefined;
  let mayHaveAppended = false;
  const run = () =>
    db.priority.transaction(
      signal,
      (tx) => {
        mayHaveAppended ||= sealing?.appended !== undefined;
        sealing = begin(tx);
        return work(sealing);
      },
      { isClaimed },
    );
  const result = await run().catch(async (error) => {
    if (guard === undefined || !(error instanceof ServedHeadMissing)) throw error;
    // A node of a cluster may only be late. If the head is really missing, the reason says so.
    const reason = await guard.confirm(signal);
    if (reason !== undefined) throw new SealingBlocked(reason);
    return run().catch((again) => {
      throw again instanceof ServedHeadMissing ? new SealingBlocked(again.message) : again;
    });
  });
  const appended = sealing?.appended;
  if (appended !== undefined) return { result, stored: guard?.storeSealed(appended) };
  // An earlier attempt may have committed although its COMMIT got no answer, and the last one only found that out.
  return { result, stored: mayHaveAppended ? guard?.storeSettled(signal) : undefined };
}

/**
 * Reads a receipt.
 * @returns the receipt, and whether it is final: it is part of the chain up to the head that the guard has stored, so
 * that no other receipt can take its place unnoticed
 */
export async function findWithGuard(
  db: Parameters<typeof findReceipt>[0],
  guard: HeadGuard | undefined,
  seq: number,
): Promise<(ReceiptRow & { isFinal: boolean }) | undefined> {
  const stored = guard?.storedHead;
  guard?.observeServed(seq);
  if (stored === undefined || seq > stored.seq) {
    const row = await findReceipt(db, seq);
    return row && { ...row, isFinal: false };
  }
  const row = await findReceiptBeside(db, seq, stored.seq);
  return row && { ...row, isFinal: row.other_hash === stored.hash };
}
