import { notFound } from "../errors.ts";
import type { Queryable } from "../store/database.ts";
import { largestReceipt, listReceipts, type ReceiptRow, readHead } from "../store/receipts.ts";
import type { HeadWatch } from "./head-watch.ts";
import type { NewestReceipts } from "./newest-receipts.ts";

/** Receipts that are read at once for one stream, which holds no more than these in memory, nor much more than these bytes. */
const portion = 64;
const portionBytes = 256 * 1024;
/** For so many receipts ahead the largest is looked up, in one query. */
const lookAhead = 512;

export interface StreamQuery {
  /** The first seq; at most one beyond the head. */
  from: number;
  follow: boolean;
}

/** What all followers of a chain share. */
export interface Followers {
  watch: HeadWatch;
  newest: NewestReceipts;
}

/**
 * Receipts in the order of the chain, each once and none left out. Nothing is read before the consumer has taken what was
 * read before. A stream ends in one of these ways: it returns (not following, and the head of its beginning is reached);
 * or it throws the signal's reason (the consumer has gone, the service stops), `unavailable` (the database is away), or an
 * Error (a receipt is missing).
 * @throws StoaError `not_found` when `from` is further than one beyond the head
 */
export async function* streamReceipts(
  db: Queryable,
  { watch, newest }: Followers,
  { from, follow }: StreamQuery,
  signal: AbortSignal,
): AsyncGenerator<ReceiptRow, void> {
  let head = (await readHead(db)).seq;
  if (from > head + 1) throw notFound("There is no receipt of this seq yet.", "from");
  let next = from;
  let count = 1;
  let countedTo = 0;
  for (;;) {
    // Backfill: what there is up to the head that is known.
    while (next <= head) {
      if (next > countedTo && next < head) {
        countedTo = Math.min(next + lookAhead - 1, head);
        const largest = await largestReceipt(db, next, countedTo);
        count = Math.min(portion, Math.max(1, Math.floor(portionBytes / Math.max(largest, 1))));
      }
      const length = Math.min(count, Math.max(countedTo, next) - next + 1);
      const rows = next === head ? await newest.read(next) : await listReceipts(db, next, length);
      signal.throwIfAborted();
      for (const row of rows) {
        if (row.seq !== next) throw missing(next);
        yield row;
        next += 1;
      }
      if (rows.length === 0) throw missing(next);
    }
    if (!follow) return;

    // Live: what is sealed from now on, here or by another replica.
    head = await watch.beyond(head, signal);
  }
}

function missing(seq: number): Error {
  return new Error(`Receipt ${seq} is missing from the database.`);
}
