import { notFound, StoredDamage } from "../../errors.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { type Head, largestReceipt, listReceipts, type ReceiptRow, readHead } from "../../store/tables/receipts.ts";
import type { GrowthWatch } from "../../timing/growth-watch.ts";
import { sleep } from "../../timing/wait.ts";
import { type NewestReceipts, withOwnBytes } from "./newest-receipts.ts";

/** The most receipts that one stream has in memory. */
const maxRows = 64;
/** About how many bytes of receipts one stream has in memory. */
const maxBytes = 256 * 1024;
/** About how many bytes all streams together have in memory: a slow client occupies its share until it has read it. */
const maxSharedBytes = 4 * 1024 * 1024;
/** The range of receipts for which one query finds the largest. */
const lookAhead = 512;

/** What followers watch. There is one chain. */
export const chain = "chain";

export interface StreamQuery {
  /** The first seq; at most one beyond the head. */
  from: number;
  follow: boolean;
}

/** The state that all followers of a chain share. */
export interface Followers {
  /** Notifies them when the chain has grown. */
  watch: Pick<GrowthWatch<typeof chain>, "beyond" | "notify">;
  newest: NewestReceipts;
  /** How many streams are reading receipts that are already sealed. */
  backfills: number;
  /** Called with every head that is read. */
  onHead(head: Head): void;
  /** The waits before a receipt that seems to be missing is looked for again, in milliseconds; see `lookAgainMs`. */
  waitsMs(): readonly number[];
}

/**
 * Streams receipts in the order of the chain, each exactly once. The next receipts are read only when the consumer has
 * taken the earlier ones. A stream ends in one of these ways:
 * - it returns, without `follow`, at the receipt that was the newest when the stream began;
 * - it throws the signal's reason: the consumer has left, or the service stops;
 * - it throws `unavailable`: the database is away, or has lost a receipt.
 * @throws StoaError `not_found` when `from` is further than one beyond the head
 */
export async function* streamReceipts(
  db: Queryable,
  followers: Followers,
  { from, follow }: StreamQuery,
  signal: AbortSignal,
): AsyncGenerator<ReceiptRow, void> {
  const newest = await readHead(db);
  followers.onHead(newest);
  let head = newest.seq;
  if (from > head + 1) throw notFound("There is no receipt with this seq yet.", "from");
  let next = from;
  for (;;) {
    // Backfill: the receipts up to the known head.
    for await (const rows of backfill(db, followers, { from: next, to: head }, signal)) {
      for (const row of rows) {
        if (row.seq !== next) throw missingReceipt(next);
        yield row;
        next += 1;
      }
    }
    if (next <= head) throw missingReceipt(next);
    if (!follow) return;

    // Live: the receipts that any replica seals from now on.
    head = await followers.watch.beyond(chain, head, signal);
  }
}

/** Reads a range of receipts in parts. It ends early at an empty part: a receipt is missing there. */
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
        const bytes = Math.min(maxBytes, maxSharedBytes / followers.backfills);
        count = Math.min(maxRows, Math.max(1, Math.floor(bytes / Math.max(largest, 1))));
      }
      const length = Math.min(count, Math.max(countedTo, next) - next + 1);
      const readMany = async () => (await listReceipts(db, next, length)).map(withOwnBytes);
      const read = () => (next === to ? followers.newest.read(next) : readMany());
      const rows = await readConnected(read, next, followers.waitsMs(), signal);
      signal.throwIfAborted();
      if (rows.length === 0) return;
      yield rows;
      next += rows.length;
    }
  } finally {
    followers.backfills -= 1;
  }
}

/**
 * Reads receipts from `next` on, up to the first gap. If the first is missing, it is looked for again: it may not have arrived
 * from another server of a cluster yet.
 */
async function readConnected(
  read: () => Promise<ReceiptRow[]>,
  next: number,
  waitsMs: readonly number[],
  signal: AbortSignal,
): Promise<ReceiptRow[]> {
  let rows = await read();
  for (const ms of waitsMs) {
    if (rows[0]?.seq === next) break;
    await sleep(ms, signal);
    rows = await read();
  }
  const gap = rows.findIndex(({ seq }, index) => seq !== next + index);
  return gap > 0 ? rows.slice(0, gap) : rows;
}

/** The error for a receipt that the database has lost. */
export function missingReceipt(seq: number): StoredDamage {
  return new StoredDamage(`Receipt ${seq} is missing from the database.`);
}
