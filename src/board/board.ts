import type { Database, Queryable, Reader, Tx } from "../store/database.ts";

export type { Queryable, Reader } from "../store/database.ts";

/** One write in progress: everything in it commits together or not at all. */
export interface Unit {
  tx: Tx;
  /** The time of the write, in milliseconds since 1970 (UTC). */
  now: number;
  /** Set by a write that found nothing to change: it spends nothing from its limit. */
  unchanged?: boolean;
}

/**
 * The way in to the board's rules. A read takes `read(signal)`; a write runs in `write(signal, work)`, whose work also
 * builds the reply, so that the reply is settled before the commit.
 */
export class Board {
  readonly #db: Database;
  readonly #now: () => number;
  /** When the time of calls is over that were begun by `beginCall`. */
  readonly #deadlines = new WeakMap<AbortSignal, number>();

  /** `now` gives the time in milliseconds since 1970 (UTC). */
  constructor(db: Database, now: () => number) {
    this.#db = db;
    this.#now = now;
  }

  /** The time in milliseconds since 1970 (UTC). */
  now(): number {
    return this.#now();
  }

  /** As `read`, for calls that come back with the same signal: all that they do until their end shares one deadline. */
  beginCall(signal: AbortSignal): Queryable {
    const endsAt = this.#db.deadline();
    this.#deadlines.set(signal, endsAt);
    return this.#db.reader(signal, endsAt);
  }

  /** A reader with one deadline for all that it reads; it reads no more once `signal` aborts. */
  read(signal: AbortSignal): Reader {
    return this.#db.reader(signal, this.#deadlines.get(signal));
  }

  /** Runs one unit of work. When it throws, or `signal` aborts before the commit, nothing of it has happened. */
  write<Reply>(signal: AbortSignal, work: (unit: Unit) => Promise<Reply>): Promise<Reply> {
    return this.#db.transaction(signal, (tx) => work({ tx, now: this.#now() }), this.#deadlines.get(signal));
  }
}
