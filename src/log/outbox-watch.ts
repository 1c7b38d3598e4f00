import type { Queryable } from "../store/database/queryable.ts";
import { findOldestInOutbox } from "../store/tables/log-outbox.ts";

/** How often the outbox is read from its beginning, in milliseconds. Every transaction that adds entries is shorter. */
const intervalMs = 60_000;

/**
 * What this process has seen of the outbox: since when its oldest row waits, and after which id to look. While a backup holds a
 * snapshot, the server keeps deleted rows, and a look from the beginning passes over all of them. So looks begin after the rows
 * that were gone over a minute ago. One look each minute begins at the beginning: it finds rows with lower ids that were
 * committed later.
 */
export class OutboxWatch {
  #oldest: number | undefined;
  /** When this process first saw that row, by `performance.now()`. */
  #since = 0;
  #floor = 0;
  /** What the floor becomes at the next look at the beginning. */
  #next = 0;
  /** Every row up to this id was gone when the outbox last had rows. */
  #gone = 0;
  #begunAt = Number.NEGATIVE_INFINITY;

  /** The id after which to look. */
  get floor(): number {
    return this.#floor;
  }

  /** For how long this process has seen the oldest row wait, in seconds; 0 if the outbox is empty. */
  get seconds(): number {
    return this.#oldest === undefined ? 0 : (performance.now() - this.#since) / 1000;
  }

  /** Looks for the oldest row. This is called every second. @param now by `performance.now()` */
  async look(db: Queryable, now = performance.now()): Promise<void> {
    const oldest = await findOldestInOutbox(db, this.#begin(now));
    this.saw(oldest);
    if (oldest !== this.#oldest) this.#since = now;
    this.#oldest = oldest;
  }

  /** Tells what a look after the floor has found. @param oldest the lowest id; undefined if there was none */
  saw(oldest: number | undefined): void {
    if (oldest === undefined) return;
    this.#gone = oldest - 1;
    // A row that was committed late is looked for until it is gone.
    this.#floor = Math.min(this.#floor, this.#gone);
    this.#next = Math.min(this.#next, this.#gone);
  }

  #begin(now: number): number {
    if (now - this.#begunAt < intervalMs) return this.#floor;
    this.#begunAt = now;
    this.#floor = this.#next;
    this.#next = this.#gone;
    return 0;
  }
}
