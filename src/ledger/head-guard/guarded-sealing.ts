import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { findReceiptsBeside, type ReceiptRow } from "../../store/tables/receipts.ts";
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
    // A node of a cluster may only be late.
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

/** A receipt, and whether no other receipt can take its place unnoticed. */
export type GuardedReceipt = ReceiptRow & { isFinal: boolean };

/**
 * Reads receipts. A receipt is final if it is part of the chain up to the head that the guard has stored.
 * @param seqs at most 1,024, without repetitions
 * @returns those that there are, by seq
 */
export async function findWithGuard(
  db: Queryable,
  guard: HeadGuard | undefined,
  seqs: readonly number[],
): Promise<Map<number, GuardedReceipt>> {
  const stored = guard?.storedHead ?? { seq: 0, hash: undefined };
  guard?.observeServed(Math.max(...seqs));
  const rows = await findReceiptsBeside(db, seqs, stored.seq);
  return new Map(
    rows.map(({ other_hash, ...row }) => [
      row.seq,
      { ...row, isFinal: row.seq <= stored.seq && other_hash === stored.hash },
    ]),
  );
}
