import { contradiction, rivalOf } from "../../receipt/recovery.ts";
import { chainStart, type Finding, type Link, verifyEnd, verifyNext } from "../../receipt/verify.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { findReceipt, listReceipts, type ReceiptRow, readHead } from "../../store/tables/receipts.ts";
import { sha256 } from "../sealing/append.ts";

/** The most receipts that are read at once. */
export const maxBatchSize = 500;
/** As many as are read before it is known how long they are. */
export const firstBatchSize = 16;
/** About how many bytes are read at once: memory stays constant, however long the chain and its receipts. */
const batchBytes = 512 * 1024;

/** How many receipts to read after those of `rows`, by their length. */
export function nextBatchSize(rows: readonly ReceiptRow[], most = maxBatchSize): number {
  let bytes = 0;
  for (const { canonical } of rows) bytes += canonical.length;
  const fitting = bytes === 0 ? most : Math.floor((rows.length * batchBytes) / bytes);
  return Math.min(Math.max(fitting, firstBatchSize), most);
}

/** The outcome of verifying receipts one after another from a good link on. */
export interface Verified {
  /** The last receipt that was found good, from where a later verification can go on. */
  link: Link;
  /** How many were found good. */
  count: number;
  finding: Finding | undefined;
}

/**
 * Recomputes every hash and checks every rule from the receipt after `start` on to the head, as it is when the end is
 * reached. Rows that are missing, changed or too many are found.
 */
export async function verifyFrom(db: Queryable, start: Link): Promise<Verified> {
  let link = start;
  for (let limit = firstBatchSize; ; ) {
    const rows = await listReceipts(db, link.seq + 1, limit);
    for (const { seq, hash, prev_hash, canonical } of rows) {
      const claim = { bytes: canonical, computedHash: sha256(canonical), seq, hash, prevHash: prev_hash };
      const verdict = verifyNext(link, claim);
      if (!verdict.ok) return { link, count: link.seq - start.seq, finding: verdict.finding };
      const rival = rivalOf(verdict.document);
      if (rival !== undefined && (await isInChain(db, rival))) {
        return { link, count: link.seq - start.seq, finding: contradiction(seq, rival) };
      }
      link = verdict.link;
    }
    if (rows.length > 0) {
      limit = nextBatchSize(rows);
      continue;
    }
    // The head is read after the rows, and moves with them: it can be ahead of what was read, and is never behind it.
    const head = await readHead(db);
    const finding = verifyEnd(link, head);
    if (finding?.fault === "truncated" && (await findReceipt(db, link.seq + 1)) !== undefined) continue;
    return { link, count: link.seq - start.seq, finding };
  }
}

/**
 * Where a verification from `from` starts: for 0 and 1 before the first receipt, else at the receipt before, whose own hash
 * is recomputed.
 */
export async function startBefore(db: Queryable, from: number): Promise<Link | Finding> {
  if (from <= 1) return chainStart;
  const seq = from - 1;
  const row = await findReceipt(db, seq);
  if (row === undefined) return { seq, fault: "gap", message: `receipt ${seq} is missing` };
  const computed = sha256(row.canonical);
  if (computed !== row.hash) {
    return { seq, fault: "wrong_hash", message: `the bytes hash to ${computed}; recorded is ${row.hash}` };
  }
  return { seq, hash: computed };
}

/** Whether this very receipt is stored. */
export async function isInChain(db: Queryable, { seq, hash }: { seq: number; hash: string }): Promise<boolean> {
  return (await findReceipt(db, seq))?.hash === hash;
}
