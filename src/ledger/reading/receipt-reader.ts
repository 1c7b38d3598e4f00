import { notFound } from "../../errors.ts";
import type { Database, LookUp } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import {
  findSeqOfHash,
  type Head,
  listReceiptLengths,
  listReceipts,
  type ReceiptRow,
  readHead,
} from "../../store/tables/receipts.ts";
import { findSealedSession } from "../../store/tables/seals.ts";
import { GrowthWatch } from "../../timing/growth-watch.ts";
import { sleep } from "../../timing/wait.ts";
import { findWithGuard, type GuardedReceipt } from "../head-guard/guarded-sealing.ts";
import type { HeadGuard } from "../head-guard/head-guard.ts";
import { lookAgainMs } from "../late-nodes.ts";
import { NewestReceipts } from "./newest-receipts.ts";
import { chain, type Followers, missingReceipt, type StreamQuery, streamReceipts } from "./stream.ts";

/**
 * The most bytes of canonical receipts on one page. A reply has each receipt twice, as an object and as a string, and
 * the escapes of the string may double it: a reply has at most 4 MiB.
 */
const maxPageBytes = 1.25 * 1024 * 1024;

/** How many receipts one statement reads for several callers: to make the replies of 16 large ones takes about 10 ms. */
const maxAtOnce = 16;

/** Consecutive receipts of the chain. */
export interface ReceiptPage {
  receipts: ReceiptRow[];
  /** The seq at which the next page begins; undefined on the last page. */
  nextFrom: number | undefined;
  headSeq: number;
  /** Whether receipts of this page are missing from the database. */
  lacksReceipts: boolean;
}

export interface ReceiptReaderOptions {
  db: Database;
  guard: HeadGuard | undefined;
  /** Aborts when the service stops. Those who wait for a receipt then get its reason. */
  stopping: AbortSignal;
  /** Called when a receipt was requested that the database has lost. */
  onMissing(): void;
}

/** Reads receipts one by one, by pages and as streams. */
export class ReceiptReader {
  readonly #db: Database;
  readonly #guard: HeadGuard | undefined;
  readonly #stopping: AbortSignal;
  readonly #onMissing: () => void;
  readonly #find: LookUp<number, GuardedReceipt>;
  readonly #followers: Followers;

  constructor({ db, guard, stopping, onMissing }: ReceiptReaderOptions) {
    this.#db = db;
    this.#guard = guard;
    this.#stopping = stopping;
    this.#onMissing = onMissing;
    this.#find = db.lookUp(maxAtOnce, (rows, seqs) => findWithGuard(rows, guard, seqs));
    const reader = db.longReader(stopping);
    const onHead = (head: Head) => guard?.observeHead(head);
    this.#followers = {
      watch: new GrowthWatch(async () => {
        const head = await readHead(reader);
        onHead(head);
        return new Map([[chain, head.seq]]);
      }),
      newest: new NewestReceipts(reader),
      backfills: 0,
      onHead,
      waitsMs: () => lookAgainMs(db),
    };
  }

  /** Notifies followers that this process has sealed a receipt. */
  notifyFollowers(): void {
    this.#followers.watch.notify(chain);
  }

  /** The seq of the newest receipt. @throws StoaError `unavailable` if the database has lost the head */
  async headSeq(db: Queryable = this.#db.reader(this.#stopping)): Promise<number> {
    return (await this.readHead(db)).seq;
  }

  /** The newest receipt. @throws StoaError `unavailable` if the database has lost the head */
  async readHead(db: Queryable): Promise<Head> {
    const head = await readHead(db);
    this.#guard?.observeHead(head);
    return head;
  }

  /**
   * Reads a receipt, and whether it is final: then the guard has stored a head of its chain, and no other receipt can take
   * its place unnoticed.
   * @throws StoaError `not_found` beyond the head; `unavailable` for a receipt that is missing from the database
   */
  async get(signal: AbortSignal, seq: number): Promise<GuardedReceipt> {
    const db = this.#db.reader(signal);
    const row = await this.#find(signal, seq);
    if (row !== undefined) return row;
    if (seq > (await this.readHead(db)).seq) throw notFound("There is no receipt with this seq.");
    // It may have been sealed between the two reads, or not have arrived from another server of a cluster yet.
    for (const ms of [0, ...lookAgainMs(this.#db)]) {
      if (ms > 0) await sleep(ms, signal);
      const sealed = (await findWithGuard(db, this.#guard, [seq])).get(seq);
      if (sealed !== undefined) return sealed;
    }
    this.#onMissing();
    throw missingReceipt(seq);
  }

  /** Reads a receipt by its hash, as `get` does. @throws StoaError also `not_found`, field `hash` */
  async getByHash(signal: AbortSignal, hash: string): Promise<GuardedReceipt> {
    const seq = await findSeqOfHash(this.#db.reader(signal), hash);
    if (seq === undefined) throw notFound("No receipt has this hash.", "hash");
    return this.get(signal, seq);
  }

  /** Reads the receipt that seals a session of a book, as `get` does. @throws StoaError also `not_found`, field `session` */
  async getOfSession(signal: AbortSignal, book: string, session: string): Promise<GuardedReceipt> {
    const seq = await findSealedSession(this.#db.reader(signal), book, session);
    if (seq === undefined) throw notFound("No receipt seals this session of this book.", "session");
    return this.get(signal, seq);
  }

  /**
   * Lists up to `limit` receipts: at least one, and no more than fit in a reply of about 4 MiB.
   * @throws StoaError `not_found` beyond the head
   */
  async list(signal: AbortSignal, from: number, limit: number): Promise<ReceiptPage> {
    const db = this.#db.reader(signal);
    const head = await this.readHead(db);
    if (from > head.seq) throw notFound("There is no receipt with this seq yet.", "from");
    const count = limit === 1 ? 1 : countWithin(await listReceiptLengths(db, from, limit), maxPageBytes);
    const receipts = await listReceipts(db, from, count);
    const last = receipts.at(-1)?.seq ?? head.seq;
    return {
      receipts,
      nextFrom: last < head.seq ? last + 1 : undefined,
      headSeq: head.seq,
      lacksReceipts: receipts.length < last - from + 1,
    };
  }

  /** Streams receipts in order, and follows the chain if the query says so; see `streamReceipts`. */
  stream(signal: AbortSignal, query: StreamQuery): AsyncGenerator<ReceiptRow, void> {
    return streamReceipts(this.#db.longReader(signal), this.#followers, query, signal);
  }
}

/** How many of the first of these lengths fit into `max` together; at least one. */
function countWithin(lengths: readonly number[], max: number): number {
  let sum = 0;
  const count = lengths.findIndex((length) => {
    sum += length;
    return sum > max;
  });
  return count === -1 ? Math.max(lengths.length, 1) : Math.max(count, 1);
}
