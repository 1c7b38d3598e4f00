import { contradiction, type Head } from "../../receipt/recovery.ts";
import { chainStart, type Finding, type Link, verifyEnd } from "../../receipt/verify.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { findReceipt, largestReceipt, listReceipts, type ReceiptRow, readHead } from "../../store/tables/receipts.ts";
import { sha256 } from "../sha256.ts";
import { type VerifiedPage, verifyPage } from "./page.ts";

/** The most receipts that are read at once. */
export const maxPageRows = 500;
/** About how many bytes are read at once. Memory stays constant, however long the chain and its receipts are. */
const pageBytes = 512 * 1024;

/** The result of verifying the receipts after a good link. */
export interface Verified {
  /** The last good receipt. A later verification can begin after it. */
  link: Link;
  /** The number of good receipts. */
  count: number;
  finding: Finding | undefined;
}

/** Verifies a page like `verifyPage`. */
export type PageVerifier = (start: Link, rows: readonly ReceiptRow[]) => Promise<VerifiedPage>;

/**
 * Reads the next receipts of the chain: as many as have about 512 KiB together, up to 500, but at least one. Where receipts are
 * missing, it continues after them. Empty at the end of the chain.
 */
export async function readPage(db: Queryable, from: number): Promise<ReceiptRow[]> {
  const largest = await largestReceipt(db, from, from + maxPageRows - 1);
  const count = largest === 0 ? 1 : Math.floor(pageBytes / largest);
  return listReceipts(db, from, Math.min(Math.max(count, 1), maxPageRows));
}

/**
 * Recomputes every hash and checks every rule from the receipt after `start` to the head, which is read when the end is
 * reached. It finds rows that are missing, changed or added.
 * @param verify verifies pages, up to `atOnce` at the same time
 */
export async function verifyFrom(
  db: Queryable,
  start: Link,
  verify: PageVerifier = async (...page) => verifyPage(...page),
  atOnce = 1,
): Promise<Verified> {
  let link = start;
  const running: Promise<VerifiedPage>[] = [];
  /** Waits for the oldest page. The pages before it are good. */
  const settle = async (): Promise<Finding | undefined> => {
    const { link: last, finding, rivals } = (await running.shift()) as VerifiedPage;
    for (const { before, rival } of rivals) {
      if (!(await isInChain(db, rival))) continue;
      link = before;
      return contradiction(before.seq + 1, rival);
    }
    link = last;
    return finding;
  };
  const result = (finding: Finding | undefined) => ({ link, count: link.seq - start.seq, finding });
  for (;;) {
    for await (const page of pagesAfter(db, link)) {
      const verified = verify(page.start, page.rows);
      verified.catch(() => {}); // it is thrown by `settle`
      running.push(verified);
      const finding = running.length < atOnce ? undefined : await settle();
      if (finding !== undefined) return result(finding);
    }
    while (running.length > 0) {
      const finding = await settle();
      if (finding !== undefined) return result(finding);
    }
    // The head is read after the rows and moves with them. It may be ahead of the rows that were read, but never
    // behind.
    const finding = verifyEnd(link, await readHead(db));
    if (finding?.fault !== "truncated" || (await findReceipt(db, link.seq + 1)) === undefined) return result(finding);
  }
}

/**
 * Reads the chain after a link in pages that can be verified at the same time: each but the first begins with the last receipt
 * of the page before.
 */
async function* pagesAfter(db: Queryable, start: Link): AsyncGenerator<{ start: Link; rows: ReceiptRow[] }, void> {
  let rows = await readPage(db, start.seq + 1);
  for (let last = rows.at(-1); last !== undefined; last = rows.at(-1)) {
    yield { start, rows };
    start = { seq: last.seq - 1, hash: last.prev_hash };
    rows = await readPage(db, last.seq + 1);
    if (rows.length > 0) rows.unshift(last);
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
export async function isInChain(db: Queryable, { seq, hash }: Head): Promise<boolean> {
  return (await findReceipt(db, seq))?.hash === hash;
}
