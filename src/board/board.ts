import type { StoaError } from "../errors.ts";
import type { Database } from "../store/database/database.ts";
import type { Reader, Tx } from "../store/database/queryable.ts";

export type { Queryable, Reader } from "../store/database/queryable.ts";

/** One write in progress: everything in it commits together or not at all. */
export interface Unit {
  tx: Tx;
  /** The time of the write, in milliseconds since 1970 (UTC). */
  now: number;
  /** Set by a write that found nothing to change: it spends nothing from its limit. */
  unchanged?: boolean;
  /** As `Board.expiryNow`; by default it is `now`. */
  expiryNow?: number;
}

/**
 * The way in to the board's rules. A read takes `read(signal)`; a write runs in `write(signal, work)`, whose work also
 * builds the reply, so that the reply is settled before the commit.
 */
export class Board {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #expiryNow: () => number;

  /** `now` gives the time in milliseconds since 1970 (UTC); for `expiryNow` see the method. */
  constructor(db: Database, now: () => number, expiryNow = now) {
    this.#db = db;
    this.#now = now;
    this.#expiryNow = expiryNow;
  }

  /** The time in milliseconds since 1970 (UTC). */
  now(): number {
    return this.#now();
  }

  /**
   * The time to compare with where something expires, in milliseconds since 1970 (UTC). It is 0 while the clock is in doubt:
   * nothing expires then.
   */
  expiryNow(): number {
    return this.#expiryNow();
  }

  /**
   * Begins the time of a call: all that it reads and writes with this signal until its end shares one deadline.
   * @returns the time that it has, in milliseconds
   */
  beginCall(signal: AbortSignal): number {
    return this.#db.beginCall(signal);
  }

  /** Why nothing may be written now; undefined while writes go on. */
  get refusal(): StoaError | undefined {
    return this.#db.refusal;
  }

  /** A reader with one deadline for all that it reads; it reads no more once `signal` aborts. */
  read(signal: AbortSignal): Reader {
    return this.#db.reader(signal);
  }

  /** Runs one unit of work. When it throws, or `signal` aborts before the commit, nothing of it has happened. */
  write<Reply>(signal: AbortSignal, work: (unit: Unit) => Promise<Reply>): Promise<Reply> {
    return this.#db.transaction(signal, (tx) => work({ tx, now: this.#now(), expiryNow: this.#expiryNow() }));
  }
}
