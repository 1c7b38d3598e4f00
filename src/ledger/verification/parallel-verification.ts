import { availableParallelism } from "node:os";
import type { Link } from "../../receipt/verify.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { listReceipts, type ReceiptRow, readHead } from "../../store/tables/receipts.ts";
import type { BatchOutcome } from "./batch.ts";
import { firstBatchSize, isInChain, nextBatchSize, type Verified, verifyFrom } from "./verification.ts";
import { WorkerPool } from "./worker-pool.ts";

export interface ParallelOptions {
  /** Ends the threads; `db` must read no more then. */
  signal: AbortSignal;
  /** Hears of a thread that failed. */
  onFailure(error: unknown): void;
  /** How many threads verify, besides this one, which reads. */
  threads?: number;
  /** Where fewer receipts than this are left, this thread verifies alone. */
  least?: number;
  /** The most receipts that a page has. */
  maxBatchSize?: number;
  /** The threads' program. */
  program?: URL;
}

/** What takes about as long to verify as threads take to start. */
const shortest = 25_000;
/** Pages that each thread has: one that it works at, and one for when it is done. */
const pagesAThread = 2;
/** Pages that are read at once: the database sends one while another is taken apart here. */
const readsAtOnce = 2;

/**
 * Verifies as `verifyFrom` does, with the same outcome, in less time. Threads verify whole pages, each after what the last
 * receipt before it is recorded to be; that gives the longest prior of good pages. Whatever comes then, the first bad
 * receipt or the end of the chain, is told by `verifyFrom` and by nothing else. So a thread that fails costs time, and
 * never the outcome.
 */
export async function verifyInParallel(db: Queryable, start: Link, options: ParallelOptions): Promise<Verified> {
  const { least = shortest } = options;
  const { seq } = await readHead(db);
  const good = seq - start.seq < least ? start : await passGoodPages(db, start, options);
  const { link, finding } = await verifyFrom(db, good);
  return { link, count: link.seq - start.seq, finding };
}

/** @returns the last receipt of the last page up to which all pages are good */
async function passGoodPages(db: Queryable, start: Link, options: ParallelOptions): Promise<Link> {
  const { signal, onFailure, threads = Math.min(availableParallelism(), 2), maxBatchSize, program } = options;
  signal.throwIfAborted();
  const crew = new WorkerPool({ size: threads, onFailure, program });
  const end = () => void crew.end();
  signal.addEventListener("abort", end, { once: true });
  const underWay: Promise<BatchOutcome>[] = [];
  let good = start;
  /** Waits for the oldest page; false where it is not good. */
  const settle = async () => {
    const outcome = await underWay.shift();
    // It was verified after the recorded hash of the page before, which is good: that leaves the time to be compared.
    if (outcome === undefined || (good.ts !== undefined && outcome.firstTs < good.ts)) return false;
    for (const rival of outcome.rivals) if (await isInChain(db, rival)) return false;
    good = outcome.last;
    return true;
  };
  try {
    let previous: { seq: number; hash: string } = start;
    for await (const rows of readFullPages(db, start.seq, maxBatchSize)) {
      underWay.push(crew.verify(previous, rows));
      previous = rows.at(-1) as ReceiptRow;
      if (underWay.length >= threads * pagesAThread && !(await settle())) return good;
    }
    while (underWay.length > 0 && (await settle()));
    return good;
  } finally {
    signal.removeEventListener("abort", end);
    await crew.end();
  }
}

/**
 * Reads pages of receipts that follow `after` without a gap, up to the first page that is not full or has one: there the
 * chain ends or breaks. Some pages are asked for before they are due; when this ends none of them is under way any more.
 */
async function* readFullPages(db: Queryable, after: number, maxBatchSize?: number): AsyncGenerator<ReceiptRow[], void> {
  interface Reading {
    /** The seq of its last row, where it is full. */
    last: number;
    rows: Promise<ReceiptRow[]>;
  }
  const underWay: Reading[] = [];
  let asked = after;
  let limit = Math.min(firstBatchSize, maxBatchSize ?? firstBatchSize);
  try {
    for (;;) {
      while (underWay.length < readsAtOnce) {
        const rows = listReceipts(db, asked + 1, limit);
        rows.catch(() => {}); // thrown below, where it is due
        asked += limit;
        underWay.push({ last: asked, rows });
      }
      const { last, rows: due } = underWay.shift() as Reading;
      const rows = await due;
      if (rows.at(-1)?.seq !== last || rows.length !== last - after) return;
      after = last;
      limit = nextBatchSize(rows, maxBatchSize);
      yield rows;
    }
  } finally {
    await Promise.allSettled(underWay.map(({ rows }) => rows));
  }
}
