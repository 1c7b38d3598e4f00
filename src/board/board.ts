import { LRUCache } from "lru-cache";
import type { StoaError } from "../errors.ts";
import type { Database, FindRows, LookUp, TransactionOptions } from "../store/database/database.ts";
import type { Queryable, Reader, Tx } from "../store/database/queryable.ts";
import type { NewLogEntry } from "../store/tables/log-entries.ts";
import { insertAtCommit } from "../store/tables/log-outbox.ts";
import { withTimeout } from "../timing/wait.ts";

export type { Queryable, Reader } from "../store/database/queryable.ts";

/** How long a call that reads waits for a unit of work, in milliseconds. */
const readsWaitMs = 1_000;

/** How many communities are remembered. */
const maxCommunities = 10_000;

/**
 * The ids of communities by their names, as this process has seen them. A community keeps both, so they are right until the
 * database is replaced. The statement that uses an id also checks it.
 */
export type CommunityIds = LRUCache<string, number>;

/** One write in progress: everything in it commits together or not at all. */
export interface Unit {
  tx: Tx;
  /** The time of the write, in milliseconds since 1970 (UTC). */
  now: number;
  /** Set by a write that changed nothing: it does not count against the limit, unless its reply is stored. */
  unchanged?: boolean;
  /** As `Board.expiryNow`; without it, `now` decides. */
  expiryNow?: () => number;
  /** The agents whose inboxes get an item. */
  notified?: number[];
  /** Whether what is created is added to the board's log. */
  isLogged?: boolean;
  /** The entries that the write adds to the outbox of the log, last of all. */
  entries?: readonly NewLogEntry[];
  /** See `CommunityIds`. */
  communityIds?: CommunityIds;
}

/** Look-ups of the same rows: one as `Board.read` reads, and one as `Board.readForWrite` does. */
export interface LookUps<Key, Row> {
  reads: LookUp<Key, Row>;
  writes: LookUp<Key, Row>;
}

/**
 * Gives access to the board. A read uses `read(signal)`. A write runs in `write(signal, work)`; its work also builds the
 * reply, so that the reply is complete before the commit.
 */
export class Board {
  /** Called for each agent whose inbox has got an item, when the transaction has committed. */
  onNotified: ((agentId: number) => void) | undefined;
  /** From when on writes add entries to the log, in milliseconds since 1970 (UTC); undefined while there is no log. */
  logBeginsAt: number | undefined;
  readonly #db: Database;
  /** Gives the time in milliseconds since 1970 (UTC). */
  readonly now: () => number;
  /**
   * Gives the time for deciding what has expired, in milliseconds since 1970 (UTC). It is 0 while the clock is in doubt, so
   * that nothing expires.
   */
  readonly expiryNow: () => number;
  readonly #communityIds: CommunityIds = new LRUCache({ max: maxCommunities });

  constructor(db: Database, now: () => number, expiryNow = now) {
    this.#db = db;
    this.now = now;
    this.expiryNow = expiryNow;
  }

  /**
   * Begins the time of a call: from now on, all reads and writes with this signal share one deadline.
   * @returns the time that the call has, in milliseconds
   */
  beginCall(signal: AbortSignal): number {
    return this.#db.beginCall(signal);
  }

  /** Why writes are refused now; undefined while they are allowed. */
  get refusal(): StoaError | undefined {
    return this.#db.refusal;
  }

  /** A reader with one deadline for all its reads. It stops reading when `signal` aborts. */
  read(signal: AbortSignal): Reader {
    return this.#db.reader(signal);
  }

  /** A reader for a stream: each statement has its own deadline. */
  readLong(signal: AbortSignal): Queryable {
    return this.#db.longReader(signal);
  }

  /**
   * A reader like `read`, for what a call that writes has to read before its transaction. It uses reserved connections: writes
   * continue even if slow reads hold all the others.
   */
  readForWrite(signal: AbortSignal): Reader {
    return this.#db.priority.reader(signal);
  }

  /** Makes look-ups of single rows, whose callers share statements. @param size the most keys of a statement */
  lookUps<Key, Row>(size: number, find: FindRows<Key, Row>): LookUps<Key, Row> {
    return { reads: this.#db.lookUp(size, find), writes: this.#db.lookUp(size, find, this.#db.priority) };
  }

  /** A reader for a search. Few searches run at a time, and each has less time than other calls. */
  readForSearch(signal: AbortSignal): Reader {
    return this.#db.searchReader(signal);
  }

  /** Whether the database has several servers, as far as is known. */
  get isCluster(): boolean {
    return this.#db.isCluster;
  }

  /** Runs one unit of work. When it throws, or `signal` aborts before the commit, nothing has changed. */
  async write<Reply>(
    signal: AbortSignal,
    work: (unit: Unit) => Promise<Reply>,
    options?: TransactionOptions,
  ): Promise<Reply> {
    let notified: number[] | undefined;
    const reply = await this.#db.transaction(
      signal,
      async (tx) => {
        const now = this.now();
        const unit: Unit = {
          tx,
          now,
          expiryNow: this.expiryNow,
          isLogged: this.logBeginsAt !== undefined && now >= this.logBeginsAt,
          communityIds: this.#communityIds,
        };
        const made = await work(unit);
        if (unit.entries !== undefined) insertAtCommit(tx, unit.entries);
        // If an attempt finds that the one before has committed, the agents of that one are notified.
        notified = unit.notified ?? notified;
        return made;
      },
      options,
    );
    if (this.onNotified !== undefined) notified?.forEach(this.onNotified);
    return reply;
  }

  /**
   * Runs a unit of work that a call which reads has to do besides. The call waits one second at most, because other writes
   * may be stuck. After that the work goes on, and its failure is ignored.
   * @returns whether the work has ended
   */
  async writeForRead(signal: AbortSignal, work: (unit: Unit) => Promise<void>): Promise<boolean> {
    const ended = this.write(signal, work).then(() => true);
    return (await withTimeout(ended, readsWaitMs)) ?? false;
  }
}
