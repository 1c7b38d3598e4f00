import { notFound, StoredDamage } from "../../errors.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { type Head, largestReceipt, listReceipts, type ReceiptRow, readHead } from "../../store/tables/receipts.ts";
import type { HeadWatch } from "./head-watch.ts";
import type { NewestReceipts } from "./newest-receipts.ts";

/** Receipts that are read at once for one stream, which holds no more than these in memory, nor much more than these bytes. */
const portion = 64;
const portionBytes = 256 * 1024;
/** Shared by the streams that are reading, in bytes: clients that do not read keep theirs for as long as they are let. */
const sharedBytes = 4 * 1024 * 1024;
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
  /** How many streams read what was sealed before they began. */
  backfills: number;
  /** Told of every head that is read. */
  saw(head: Head): void;
}

/**
 * Receipts in the order of the chain, each once and none left out. Nothing is read before the consumer has taken what was
 * read before. A stream ends in one of these ways: it returns (not following, and the head of its beginning is reached);
 * or it throws the signal's reason (the consumer has gone, the service stops), or `unavailable` (the database is away, or
 * has lost a receipt).
 * @throws StoaError `not_found` when `from` is further than one beyond the head
 */
export async function* streamReceipts(
  db: Queryable,
  followers: Followers,
  { from, follow }: StreamQuery,
  signal: AbortSignal,
): AsyncGenerator<ReceiptRow, void> {
  const newest = await readHead(db);
  followers.saw(newest);
  let head = newest.seq;
  if (from > head + 1) throw notFound("There is no receipt of this seq yet.", "from");
  let next = from;
  for (;;) {
    // Backfill: what there is up to the head that is known.
    for await (const rows of backfill(db, followers, { from: next, to: head }, signal)) {
      for (const row of rows) {
        if (row.seq !== next) throw missingReceipt(next);
        yield row;
        next += 1;
      }
    }
    if (next <= head) throw missingReceipt(next);
    if (!follow) return;

    // Live: what is sealed from now on, here or by another replica.
    head = await followers.watch.beyond(head, signal);
  }
}

/** The receipts from one to another in portions, up to one that holds nothing: a receipt is missing then. */
async function* backfill(
  db: Queryable,
  followers: Followers,
  { from, to }: { from: number; to: number },
  signal: AbortSignal,
): AsyncGenerator<ReceiptRow[], void> {
  followers.backfills += 1;
  try {
    let count = 1;
    let countedTo = 0;
    for (let next = from; next <= to; ) {
      if (next > countedTo && next < to) {
        countedTo = Math.min(next + lookAhead - 1, to);
        const largest = await largestReceipt(db, next, countedTo);
        const bytes = Math.min(portionBytes, sharedBytes / followers.backfills);
        count = Math.min(portion, Math.max(1, Math.floor(bytes / Math.max(largest, 1))));
      }
      const length = Math.min(count, Math.max(countedTo, next) - next + 1);
      const rows = next === to ? await followers.newest.read(next) : await listReceipts(db, next, length);
      signal.throwIfAborted();
      if (rows.length === 0) return;
      // The driver's bytes are part of a larger piece, which they would keep for as long as the client does not read.
      for (const row of rows) row.canonical = Buffer.from(row.canonical);
      yield rows;
      next += rows.length;
    }
  } finally {
    followers.backfills -= 1;
  }
}

/** What whoever asks for a receipt gets that should be there: the database has lost it. */
export function missingReceipt(seq: number): StoredDamage {
  return new StoredDamage(`Receipt ${seq} is missing from the database.`);
}
