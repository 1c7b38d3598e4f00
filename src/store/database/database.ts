import { StoaError } from "../../errors.ts";
import { Batch } from "../../timing/batch.ts";
import { Semaphore } from "../../timing/semaphore.ts";
import { traced } from "../../tracing/tracing.ts";
import { CommitInDoubt, toStoaError } from "./database-errors.ts";
import { checkDeadline } from "./pool/deadline.ts";
import type { Pool } from "./pool/pool.ts";
import { type PoolPair, Pools } from "./pool/pools.ts";
import type { DatabaseAddress } from "./pool/socket.ts";
import type { Param, Queryable, Reader, Tx } from "./queryable.ts";
import { Retries, RetryCounts } from "./retries.ts";
import { PreparedFirst, runTransaction } from "./transaction.ts";

export interface DatabaseOptions {
  /** Where the server is: a unix socket, or a host and port; with the account and the database. */
  address: DatabaseAddress;
  /** The maximum number of open connections; 4 if it is less. `Pools` divides them. Ending statements may take one more. */
  connections: number;
  /**
   * How long a call may take in all, in milliseconds: waiting for a connection, statements and retries. Infinity is for
   * long work such as migrations.
   */
  timeoutMs?: number | undefined;
  /** Why writes are refused now; undefined while they are not. Asked before each transaction and each `runDdl`. */
  refusal?: (() => StoaError | undefined) | undefined;
}

const defaultTimeoutMs = 10_000;
/** How long connecting may take, in milliseconds, unless `timeoutMs` is shorter. */
const connectTimeoutMs = 5_000;
/** The share of a call's time after which the server itself ends a statement, so that the connection stays usable. */
const statementShare = 0.8;
/** How long a search may take, in milliseconds, including its waits. */
const searchTimeoutMs = 3_000;
/** How many searches may wait. More are refused. */
const maxWaitingSearches = 64;
/** One connection in this many may run searches, and one costly statements: these take much memory and time of the server. */
const connectionsPerCostly = 8;

export interface TransactionOptions {
  /**
   * Whether the work claims its call (see idempotency/claims.ts), and so finds out whether an earlier attempt has committed.
   * Only then does the work run again after a COMMIT without an answer.
   */
  isClaimed?: boolean;
}

/** How many statements of one look-up run at a time. */
const lookUpsAtOnce = 2;
const neverAborted = new AbortController().signal;

/** Reads the rows of some keys. Keys without a row are missing in the result. */
export type FindRows<Key, Row> = (db: Queryable, keys: Key[]) => Promise<ReadonlyMap<Key, Row>>;
/**
 * Reads the row of a key for a call; undefined if there is none.
 * @throws StoaError `unavailable` when the database does not answer, or not in time; the signal's reason
 */
export type LookUp<Key, Row> = (signal: AbortSignal, key: Key) => Promise<Row | undefined>;

/** The connections to MySQL or MariaDB. All transactions are opened here. */
export class Database {
  readonly #pools: Pools;
  readonly #timeoutMs: number;
  readonly #refusal: () => StoaError | undefined;
  readonly #searches: Semaphore;
  readonly #costly: Semaphore;
  readonly #retries = new RetryCounts();
  readonly #preparedFirst = new PreparedFirst();
  /** The same on reserved connections: for readiness, the ledger, the log, and what a write reads before its transaction. */
  readonly priority: Pick<Database, "reader" | "transaction">;
  /** The deadlines of the calls that `beginCall` has begun, by `performance.now()`. */
  readonly #deadlines = new WeakMap<AbortSignal, number>();

  constructor({ address, connections, timeoutMs = defaultTimeoutMs, refusal }: DatabaseOptions) {
    this.#timeoutMs = timeoutMs;
    this.#refusal = refusal ?? (() => undefined);
    const busyMessage = "Too many expensive reads are running.";
    const limit = Math.ceil(connections / connectionsPerCostly);
    this.#searches = new Semaphore({ limit, maxWaiting: maxWaitingSearches, busyMessage });
    this.#costly = new Semaphore({ limit, busyMessage });
    this.#pools = new Pools({
      address,
      connections,
      connectTimeoutMs: Math.min(connectTimeoutMs, timeoutMs),
      statementTimeoutMs: timeoutMs * statementShare,
    });
    const { priority } = this.#pools;
    this.priority = {
      reader: (signal) => this.#reader(priority.reads, signal, this.#deadlineOf(signal)),
      transaction: (signal, work, options) => this.transaction(signal, work, options, priority),
    };
  }

  /**
   * Begins the time of a call: `reader`, `searchReader`, look-ups and `transaction` with this signal share one deadline.
   * @returns the time that the call has, in milliseconds
   */
  beginCall(signal: AbortSignal): number {
    this.#deadlines.set(signal, this.#deadlineOf());
    return this.#timeoutMs;
  }

  /** The deadline of the call that `beginCall` began with `signal`, else of one that begins now; by `performance.now()`. */
  #deadlineOf(signal?: AbortSignal): number {
    return (signal && this.#deadlines.get(signal)) ?? performance.now() + this.#timeoutMs;
  }

  /**
   * A reader with one deadline for all its statements. When `signal` aborts, the running statement is ended, no other starts,
   * and the signal's reason is thrown.
   * @throws StoaError `unavailable` from its methods when the database does not answer, or not in time
   */
  reader(signal: AbortSignal): Reader {
    return this.#reader(this.#pools.ordinary.reads, signal, this.#deadlineOf(signal));
  }

  /** A reader for a search: few searches run at a time, and each has less time than other calls. */
  searchReader(signal: AbortSignal): Reader {
    const endsAt = Math.min(this.#deadlineOf(signal), performance.now() + searchTimeoutMs);
    const { rows, costly } = this.#reader(this.#pools.ordinary.reads, signal, endsAt);
    return { rows: (sql, params) => this.#searches.run(signal, () => rows(sql, params), endsAt), costly };
  }

  /** A reader for long work such as a stream: each statement has its own deadline. */
  longReader(signal: AbortSignal): Reader {
    return this.#reader(this.#pools.ordinary.reads, signal, undefined);
  }

  /**
   * Makes a look-up of single rows. Callers that wait share a statement; see `Batch`.
   * @param size the most keys of a statement
   * @param from gives the reader of a statement
   */
  lookUp<Key, Row>(size: number, find: FindRows<Key, Row>, from: Pick<Database, "reader"> = this): LookUp<Key, Row> {
    const limits = { size, concurrency: lookUpsAtOnce };
    const batch = new Batch<Key, Row>((keys) => find(from.reader(neverAborted), keys), limits);
    return (signal, key) => batch.find(key, { signal, endsAt: this.#deadlineOf(signal) });
  }

  /**
   * Runs long work that must read from one server only: another server of a cluster may not have the same rows yet. In a
   * cluster the work has one connection, and its statements run one after another; otherwise it has a `longReader`.
   * @throws StoaError `unavailable` from the reader when the database does not answer, or not in time
   */
  async onOneServer<Result>(signal: AbortSignal, work: (db: Queryable) => Promise<Result>): Promise<Result> {
    if (!this.isCluster) return work(this.longReader(signal));
    const { reads } = this.#pools.ordinary;
    const session = await reads.lend(signal, this.#deadlineOf()).catch((error) => {
      throw toStoaError(error);
    });
    const read = async <Row>(sql: string, params?: readonly Param[]) => {
      session.endsAt = this.#deadlineOf();
      checkDeadline(signal, session.endsAt);
      return session.execute<Row[]>(sql, params);
    };
    let last: Promise<unknown> = Promise.resolve();
    const rows = <Row>(sql: string, params?: readonly Param[]) => {
      const result = last
        .then(() => read<Row>(sql, params))
        .catch((error) => {
          throw toStoaError(error);
        });
      last = result.catch(() => {});
      return result;
    };
    try {
      return await work({ rows });
    } finally {
      await last;
      reads.release(session);
    }
  }

  /**
   * Runs `work` in one READ COMMITTED transaction and commits it. When `work` throws, the transaction is rolled back. `work`
   * may run several times: see `Retries`. When `signal` aborts, the running statement is ended (except COMMIT), no other
   * starts, and the transaction is rolled back.
   * @throws StoaError `unavailable` when writes are refused, the database does not answer, the time is over, or every
   * attempt failed; CommitInDoubt when COMMIT got no answer: the transaction may then have taken effect
   */
  async transaction<T>(
    signal: AbortSignal,
    work: (tx: Tx) => Promise<T>,
    { isClaimed = false }: TransactionOptions = {},
    { writes }: PoolPair = this.#pools.ordinary,
  ): Promise<T> {
    this.checkWritable();
    const endsAt = this.#deadlineOf(signal);
    let retries: Retries | undefined;
    let doubt: CommitInDoubt | undefined;
    for (;;) {
      signal.throwIfAborted();
      try {
        return await traced("transaction", () => runTransaction(writes, signal, endsAt, work, this.#preparedFirst));
      } catch (error) {
        if (error instanceof CommitInDoubt) doubt = error;
        retries ??= new Retries(signal, endsAt, this.#retries);
        if (await retries.mayRepeat(error, { isCluster: this.isCluster, isClaimed })) continue;
        const reason = toStoaError(error);
        // The attempts after the doubtful COMMIT failed before they could find out whether it took effect.
        throw doubt !== undefined && reason instanceof StoaError && reason.code === "unavailable" ? doubt : reason;
      }
    }
  }

  /**
   * Runs a statement without parameters, such as DDL, by the text protocol: not every DDL statement can be prepared.
   * When `signal` aborts, the connection is closed. The server finishes the statement, so that its work is not lost.
   */
  async runDdl(signal: AbortSignal, sql: string): Promise<void> {
    this.checkWritable();
    // DDL commits by itself, so a connection with autocommit will do.
    const { reads } = this.#pools.ordinary;
    try {
      const session = await reads.lend(signal, this.#deadlineOf());
      session.signal = undefined;
      const closeConnection = () => {
        // The driver never answers a statement whose connection was closed from here.
        session.lose(signal.reason);
        reads.release(session, false);
      };
      signal.addEventListener("abort", closeConnection, { once: true });
      try {
        await session.command(sql);
      } finally {
        signal.removeEventListener("abort", closeConnection);
        reads.release(session);
      }
    } catch (error) {
      throw toStoaError(error);
    }
  }

  /** Why no transaction may begin now; undefined while transactions may begin. */
  get refusal(): StoaError | undefined {
    return this.#refusal();
  }

  /** @throws StoaError `unavailable` while no transaction may begin */
  checkWritable(): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }

  /** Whether the database has several servers, by what the newest connection says. */
  get isCluster(): boolean {
    return this.#pools.isCluster;
  }

  /** How often attempts were repeated, by cause. */
  get retries(): ReadonlyMap<string, number> {
    return this.#retries.byCause;
  }

  /** How many connections work for a call, and how many calls wait for a connection. */
  get load(): { inUse: number; waiting: number } {
    return this.#pools.load;
  }

  /** Gives running statements a moment to end, and closes every connection. */
  close(): Promise<void> {
    return this.#pools.close();
  }

  /** @param endsAt the deadline of all statements; by default each has its own */
  #reader(pool: Pool, signal: AbortSignal, endsAt: number | undefined): Reader {
    const read = async <Row>(sql: string, params?: readonly Param[], end = endsAt ?? this.#deadlineOf()) => {
      let retries: Retries | undefined;
      for (;;) {
        try {
          const session = await pool.lend(signal, end);
          try {
            return await session.execute<Row[]>(sql, params);
          } finally {
            pool.release(session);
          }
        } catch (error) {
          // Without a cluster a read is not repeated here: the client may do that.
          if (!this.isCluster) throw toStoaError(error);
          retries ??= new Retries(signal, end, this.#retries);
          if (!(await retries.mayRepeat(error, { isCluster: true, isClaimed: true }))) throw toStoaError(error);
        }
      }
    };
    return {
      rows: read,
      costly: () => ({
        rows: (sql, params) => {
          const end = endsAt ?? this.#deadlineOf();
          return this.#costly.run(signal, () => read(sql, params, end), end);
        },
      }),
    };
  }
}
