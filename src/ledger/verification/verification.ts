import { contradiction, type Head, rivalOf } from "../../receipt/recovery.ts";
import { chainStart, type Finding, type Link, verifyEnd, verifyNext } from "../../receipt/verify.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { findReceipt, listReceipts, type ReceiptRow, readHead } from "../../store/tables/receipts.ts";
import { sha256 } from "../sha256.ts";

/** The most receipts that are read at once. Larger pages are no quicker, and V8 would keep them as old objects for a while. */
const maxPageRows = 100;
/** How many receipts are read first, when their length is not known yet. */
export const firstPageRows = 8;
/** About how many bytes are read at once. A page after short receipts may have 7 MiB: a receipt has up to some 70 KiB. */
const pageBytes = 256 * 1024;

/** How many receipts to read after a page, by the longest receipt of that page. */
export function nextPageRows(rows: readonly ReceiptRow[]): number {
  const longest = Math.max(...rows.map(({ canonical }) => canonical.length), 1);
  return Math.min(Math.max(Math.floor(pageBytes / longest), 1), maxPageRows);
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
 * Recomputes every hash and checks every rule, from the receipt after `start` to the head, which is read when no receipt is
 * left. It finds rows that are missing, changed or added.
 */
export async function verifyFrom(db: Queryable, start: Link): Promise<Verified> {
  for (let link = start; ; ) {
    const verified = await verifyUpTo(db, link, Number.MAX_SAFE_INTEGER);
    link = verified.link;
    // The head is read after the rows and moves with them. It may be ahead of the rows that were read, but never
    // behind.
    const finding = verified.finding ?? verifyEnd(link, await readHead(db));
    const isSealedSince = finding?.fault === "truncated" && (await findReceipt(db, link.seq + 1)) !== undefined;
    if (!isSealedSince) return { link, count: link.seq - start.seq, finding };
  }
}

/** Verifies the receipts after `start` up to receipt `to` at least, or up to the last one if that comes earlier. */
export async function verifyUpTo(db: Queryable, start: Link, to: number): Promise<Omit<Verified, "count">> {
  let link = start;
  for (let limit = firstPageRows; link.seq < to; ) {
    const rows = await listReceipts(db, link.seq + 1, limit);
    if (rows.length === 0) break;
    limit = nextPageRows(rows);
    for (const { seq, hash, prev_hash, canonical } of rows) {
      const receipt = { bytes: canonical, computedHash: sha256(canonical), seq, hash, prevHash: prev_hash };
      const verdict = verifyNext(link, receipt);
      if (!verdict.ok) return { link, finding: verdict.finding };
      const rival = rivalOf(verdict.document);
      if (rival !== undefined && (await isInChain(db, rival))) return { link, finding: contradiction(seq, rival) };
      link = verdict.link;
    }
  }
  return { link, finding: undefined };
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

/** Whether the database has a receipt with this seq and this recorded hash. */
export async function isInChain(db: Queryable, { seq, hash }: Head): Promise<boolean> {
  return (await findReceipt(db, seq))?.hash === hash;
}
