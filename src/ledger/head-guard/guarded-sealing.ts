import type { Database } from "../../store/database/database.ts";
import { findReceipt, findReceiptBeside, type ReceiptRow } from "../../store/tables/receipts.ts";
import type { Sealing } from "../sealing/append.ts";
import { SealingBlocked } from "../sealing/seal-checks.ts";
import { type HeadGuard, ServedHeadMissing } from "./head-guard.ts";

/**
 * Runs a unit of work that seals. What it appends is kept by the guard before this resolves.
 * @param begin makes the sealing of a transaction
 * @throws SealingBlocked when the chain has lost a receipt that was served
 */
export async function sealWithGuard<Reply>(
  { db, guard, signal }: { db: Database; guard: HeadGuard | undefined; signal: AbortSignal },
  begin: (tx: Sealing["tx"]) => Sealing,
  work: (sealing: Sealing) => Promise<Reply>,
): Promise<{ reply: Reply; kept: Promise<void> | undefined }> {
  let sealing: Sealing | undefined;
  const run = () =>
    db.priority.transaction(signal, (tx) => {
      sealing = begin(tx);
      return work(sealing);
    });
  const reply = await run().catch(async (error) => {
    if (guard === undefined || !(error instanceof ServedHeadMissing)) throw error;
    // A node of a cluster may only be late. What is really missing is told with the reason.
    const reason = await guard.confirm(signal);
    if (reason !== undefined) throw new SealingBlocked(reason);
    return run().catch((again) => {
      throw again instanceof ServedHeadMissing ? new SealingBlocked(again.message) : again;
    });
  });
  const appended = sealing?.appended;
  return { reply, kept: appended && guard?.sealed(appended) };
}

/**
 * Reads a receipt.
 * @returns also whether it is part of the chain up to the head that the guard has in its file: it will never be another
 */
export async function findWithGuard(
  db: Parameters<typeof findReceipt>[0],
  guard: HeadGuard | undefined,
  seq: number,
): Promise<(ReceiptRow & { isFinal: boolean }) | undefined> {
  const held = guard?.held;
  guard?.served(seq);
  if (held === undefined || seq > held.seq) {
    const row = await findReceipt(db, seq);
    return row && { ...row, isFinal: false };
  }
  const row = await findReceiptBeside(db, seq, held.seq);
  return row && { ...row, isFinal: row.other_hash === held.hash };
}
