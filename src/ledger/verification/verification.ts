import { contradiction, rivalOf } from "../../receipt/recovery.ts";
import { chainStart, type Finding, type Link, verifyEnd, verifyNext } from "../../receipt/verify.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { findReceipt, listReceipts, type ReceiptRow, readHead } from "../../store/tables/receipts.ts";
import { sha256 } from "../sha256.ts";

/** The most receipts that are read at once. */
export const maxBatchSize = 500;
/** How many receipts are read first, when their length is not known yet. */
export const firstBatchSize = 16;
/** About how many bytes are read at once. Memory stays constant, however long the chain and its receipts are. */
const batchBytes = 512 * 1024;

/** How many receipts to read after `rows`, by the length of these. */
export function nextBatchSize(rows: readonly ReceiptRow[], max = maxBatchSize): number {
  let bytes = 0;
  for (const { canonical } of rows) bytes += canonical.length;
  const fitting = bytes === 0 ? max : Math.floor((rows.length * batchBytes) / bytes);
  return Math.min(Math.max(fitting, firstBatchSize), max);
}

/** The result of verifying the receipts after a good link. */
export interface Verified {
  /** The last good receipt. A later verification can begin after it. */
  link: Link;
  /** The number of good receipts. */
  count: number;
  finding: Finding | undefined;
}

/**
 * Recomputes every hash and checks every rule from the receipt after `start` to the head, which is read when the end is
 * reached. It finds rows that are missing, changed or added.
 */
export async function verifyFrom(db: Queryable, start: Link): Promise<Verified> {
  let link = start;
  for (let limit = firstBatchSize; ; ) {
    const rows = await listReceipts(db, link.seq + 1, limit);
    for (const { seq, hash, prev_hash, canonical } of rows) {
      const receipt = { bytes: canonical, computedHash: sha256(canonical), seq, hash, prevHash: prev_hash };
      const verdict = verifyNext(link, receipt);
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
    // The head is read after the rows and moves with them. It may be ahead of the rows that were read, but never
    // behind.
    const head = await readHead(db);
    const finding = verifyEnd(link, head);
    if (finding?.fault === "truncated" && (await findReceipt(db, link.seq + 1)) !== undefined) continue;
    return { link, count: link.seq - start.seq, finding };
  }
}

/**
 * The link after which a verification from `from` begins: the start of the chain for 0 and 1, else the receipt before.
 * The hash of that receipt is recomputed.
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

/** Whether the database has a receipt with this seq and this hash. */
export async function isInChain(db: Queryable, { seq, hash }: { seq: number; hash: string }): Promise<boolean> {
  return (await findReceipt(db, seq))?.hash === hash;
}
