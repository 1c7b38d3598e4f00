import type { Database } from "../../store/database/database.ts";
import type { Tx } from "../../store/database/queryable.ts";
import { insertLogEntries, insertOutboxEntries } from "../../store/tables/log-entries.ts";
import { advanceLogHead, type LogTree, readLogState } from "../../store/tables/log-head.ts";
import { growLogTile } from "../../store/tables/log-tiles.ts";
import { equalBytes, toUtf8 } from "../../tlog/encoding.ts";
import { appendToTiles, type TileGrowth } from "../../tlog/tiles/growth.ts";
import type { OutboxWatch } from "../outbox-watch.ts";
import type { Publisher } from "../publisher/publisher.ts";
import { maxBatch, type Pending, readPending, whatWaits } from "./pending.ts";

export interface SequencerOptions {
  db: Database;
  publisher: Publisher;
  outbox: Pick<OutboxWatch, "floor" | "saw">;
  /** When the log began, in milliseconds since 1970 (UTC). */
  beginsAt: number;
  /** How long something waits before a replica that has not sequenced last takes over, in milliseconds. */
  takeOverMs?: number | undefined;
}

const defaultTakeOverMs = 1_000;

/**
 * Gives entries their indexes: it moves them from the outbox, the record of moderation and the ledger into the log, in
 * transactions that begin with a compare-and-set of the head. That alone decides between replicas. To save work, whoever has
 * sequenced last goes on, and another replica tries only when something has waited for a second.
 */
export class Sequencer {
  readonly #options: SequencerOptions;
  /** Whether this replica has committed the newest batch, as far as it knows. */
  #goesOn = false;
  /** What waits for another replica to sequence it, and since when, by `performance.now()`. */
  #waiting: { what: string; since: number } | undefined;

  constructor(options: SequencerOptions) {
    this.#options = options;
  }

  /** Whether this replica has sequenced last. Such a replica imports, too. */
  get goesOn(): boolean {
    return this.#goesOn;
  }

  /**
   * Sequences and publishes what there is.
   * @throws StoaError `unavailable` when the database fails; Error of the file system when the disk does. Nothing is lost: the
   * next run begins with what the database has
   */
  async run(signal: AbortSignal): Promise<void> {
    try {
      while (await this.#step(signal));
    } catch (error) {
      // At a stop the rest is sequenced by one more run, which needs to know that this replica goes on.
      if (!signal.aborted) this.#goesOn = false;
      throw error;
    }
  }

  /** @returns whether there may be more */
  async #step(signal: AbortSignal): Promise<boolean> {
    const { db, publisher, outbox, beginsAt } = this.#options;
    if (publisher.obstacle !== undefined) return this.#idle();
    const { floor } = outbox;
    const { head, pending } = await db.onOneServer(signal, async (one) => {
      const head = await readLogState(one, floor);
      outbox.saw(head.oldest ?? undefined);
      const isTurn = this.#mayTake(head.signed < head.size ? `tree ${head.size}` : whatWaits(head));
      return { head, pending: isTurn ? await readPending(one, head, floor, beginsAt) : undefined };
    });
    if (pending === undefined) return false;
    if (head.signed < head.size) {
      await publisher.publish(signal);
      return publisher.obstacle === undefined;
    }
    const { tree, range } = publisher;
    if (tree?.size !== head.size || !equalBytes(tree.root, head.root) || range?.size !== tree.size) {
      // This replica has not yet published the tree that it would extend.
      await publisher.publish(signal);
      return false;
    }
    const entries = [...pending.outbox, ...pending.records].map(({ entry }) => toUtf8(entry));
    // A damaged act or receipt waits for its repair.
    if (entries.length === 0) return false;
    const growths = appendToTiles(range, entries);
    const next = { size: range.size, root: Buffer.from(range.root()), acts: pending.acts, receipts: pending.receipts };
    const batch: Batch = { from: { size: head.size, root: head.root }, next, pending, growths };
    this.#goesOn = await db.priority.transaction(signal, (tx) => commitBatch(tx, batch));
    if (!this.#goesOn) return this.#idle();
    this.#waiting = undefined;
    await publisher.publish(signal, { from: head.size, entries });
    return entries.length === maxBatch;
  }

  #idle(): false {
    this.#goesOn = false;
    this.#waiting = undefined;
    return false;
  }

  /** Whether this replica may do what waits: it goes on, or the same thing has waited for long enough. */
  #mayTake(what: string | undefined): boolean {
    if (what === undefined) this.#waiting = undefined;
    if (what === undefined || this.#goesOn) return what !== undefined;
    const { takeOverMs = defaultTakeOverMs } = this.#options;
    const now = performance.now();
    if (this.#waiting?.what !== what) this.#waiting = { what, since: now };
    return now - this.#waiting.since >= takeOverMs;
  }
}

interface Batch {
  from: Pick<LogTree, "size" | "root">;
  next: LogTree;
  pending: Pending;
  growths: readonly TileGrowth[];
}

/** @returns false, and nothing is changed, if another replica has extended the tree */
async function commitBatch(tx: Tx, { from, next, pending, growths }: Batch): Promise<boolean> {
  if (!(await advanceLogHead(tx, from, next))) return false;
  const ids = pending.outbox.map(({ id }) => id);
  if (ids.length > 0) await insertOutboxEntries(tx, from.size, ids);
  await insertLogEntries(tx, from.size + ids.length, pending.records);
  for (const growth of growths) await growLogTile(tx, growth);
  return true;
}
