import type { ResultSetHeader } from "mysql2";
import type { StoaError } from "../../errors.ts";
import { sleep } from "../../timing/wait.ts";
import { Pool, tooLate } from "../pool/pool.ts";
import type { DatabaseAddress, LaneName, Session } from "../pool/session.ts";
import type { Param } from "./queryable.ts";
import { isCommitInDoubt, isRetryable, outcomeUnknown, toStoaError } from "./database-errors.ts";
import { Turns } from "./semaphore.ts";

export type { DatabaseAddress } from "../pool/session.ts";
export type { Param } from "./queryable.ts";

/** Something that reads. Outside a transaction each statement sees what was committed when it began. */
export interface Queryable {
  /** Runs a prepared SELECT and returns its rows. */
  rows<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
}

/** A reader outside a transaction. */
export interface Reader extends Queryable {
  /** The same for statements whose cost the caller of the service chooses: few of them run at a time in a process. */
  few(): Queryable;
}

/**
 * An open transaction; it runs one statement at a time. Functions that need one take a `Tx`, and so cannot be called
 * without.
 */
export interface Tx extends Queryable {
  /** Runs a prepared INSERT, UPDATE or DELETE. */
  run(sql: string, params?: readonly Param[]): Promise<{ affectedRows: number; insertId: number }>;
}

export interface DatabaseOptions {
  /** Where the server is; a unix socket or a host and port, with the account and the database. */
  address: DatabaseAddress;
  /** The most connections that are open at once; see `Lanes` for how they are divided. */
  connections: number;
  /**
   * How long a call may take in all, in milliseconds: waiting for a connection, its statements and its retries. Infinity
   * is for work that may take long, such as migrations.
   */
  timeoutMs?: number | undefined;
  /** Why nothing may be written now; asked before each transaction and each statement of a migration. */
  refusal?: (() => StoaError | undefined) | undefined;
}

/** How often a transaction is tried when it loses a deadlock or waits too long for a lock. */
const attempts = 8;
const defaultTimeoutMs = 10_000;
/** How long connecting may take, in milliseconds; less where a call may take less. */
const connectMs = 5_000;
/** The part of a call's time after which the server ends a statement: that way the connection need not be given up. */
const statementShare = 0.8;
/** Of so many connections one may run a costly statement. */
const connectionsPerCostly = 8;

/** The connections to MySQL or MariaDB, and the one place that opens transactions. */
export class Database {
  readonly #pool: Pool;
  readonly #timeoutMs: number;
  readonly #refusal: () => StoaError | undefined;
  readonly #costly: Turns;
  /** For what must not wait until the service's calls leave a connection: readiness, seals, the alarm. */
  readonly vital: Pick<Database, "reader" | "transaction">;
  /** When the time of calls is over that were begun by `beginCall`. */
  readonly #deadlines = new WeakMap<AbortSignal, number>();

  constructor({ address, connections, timeoutMs = defaultTimeoutMs, refusal }: DatabaseOptions) {
    this.#timeoutMs = timeoutMs;
    this.#refusal = refusal ?? (() => undefined);
    this.#costly = new Turns(Math.ceil(connections / connectionsPerCostly));
    this.#pool = new Pool({
      address,
      connections,
      connectMs: Math.min(connectMs, timeoutMs),
      statementMs: timeoutMs * statementShare,
    });
    this.vital = {
      reader: (signal) => {
        const endsAt = this.#deadlineOf(signal);
        return this.#reader("vital", signal, () => endsAt);
      },
      transaction: (signal, work) => this.#transaction("vital", signal, work),
    };
  }

  /**
   * Begins the time of a call: all that it does with this signal until its end shares one deadline.
   * @returns the time that it has, in milliseconds
   */
  beginCall(signal: AbortSignal): number {
    this.#deadlines.set(signal, this.#deadline());
    return this.#timeoutMs;
  }

  /** When the time of a call that begins now is over, by `performance.now()`. */
  #deadline(): number {
    return performance.now() + this.#timeoutMs;
  }

  /** The deadline of a call that has begun; else that of one that begins now. */
  #deadlineOf(signal: AbortSignal): number {
    return this.#deadlines.get(signal) ?? this.#deadline();
  }

  /**
   * A reader for one call, with one deadline for all that it reads. When `signal` aborts, the running statement is ended,
   * no further one is started, and the abort's reason is thrown.
   * @throws StoaError `unavailable` from its methods when the database cannot answer, or not in time
   */
  reader(signal: AbortSignal): Reader {
    const endsAt = this.#deadlineOf(signal);
    return this.#reader("reads", signal, () => endsAt);
  }

  /** A reader for work that may take long, such as a stream: each statement has a deadline of its own. */
  longReader(signal: AbortSignal): Reader {
    return this.#reader("reads", signal, () => this.#deadline());
  }

  /**
   * Runs `work` in one READ COMMITTED transaction and commits it. Whatever `work` throws rolls back and is thrown on;
   * deadlocks and lock waits are retried here while there is time, with `work` run anew, and nowhere else. When `signal`
   * aborts, the running statement is ended (but for COMMIT), no further one is started, and the transaction rolls back.
   * @throws StoaError `unavailable` when nothing may be written, the database cannot answer, the time is over or the
   * retries are used up. It says so where COMMIT has got no answer: the transaction may then have taken effect.
   */
  transaction<T>(signal: AbortSignal, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#transaction("writes", signal, work);
  }

  async #transaction<T>(lane: LaneName, signal: AbortSignal, work: (tx: Tx) => Promise<T>): Promise<T> {
    this.checkWritable();
    const endsAt = this.#deadlineOf(signal);
    for (let attempt = 1; ; attempt++) {
      signal.throwIfAborted();
      try {
        return await this.#attempt(lane, signal, endsAt, work);
      } catch (error) {
        if (!isRetryable(error) || attempt === attempts || performance.now() >= endsAt) throw toStoaError(error);
        await jitter(attempt);
      }
    }
  }

  /**
   * Runs one statement of a migration, over the text protocol: not every DDL can be prepared. When `signal` aborts, the
   * connection is closed; the server goes on with the statement, so that its work is not lost.
   */
  async define(signal: AbortSignal, sql: string): Promise<void> {
    this.checkWritable();
    try {
      const session = await this.#lease("writes", signal, this.#deadline());
      session.signal = undefined;
      const giveUp = () => this.#pool.release(session, false);
      signal.addEventListener("abort", giveUp, { once: true });
      try {
        await session.command(sql);
      } finally {
        signal.removeEventListener("abort", giveUp);
        this.#pool.release(session);
      }
    } catch (error) {
      throw toStoaError(error);
    }
  }

  /** Why no transaction may begin now; undefined while they may. */
  get refusal(): StoaError | undefined {
    return this.#refusal();
  }

  /** @throws StoaError `unavailable` while no transaction may begin */
  checkWritable(): void {
    const refusal = this.#refusal();
    if (refusal !== undefined) throw refusal;
  }

  /** How many connections work for a call, and how many calls wait for one. */
  get load(): { inUse: number; waiting: number } {
    return this.#pool.load;
  }

  /** Lets running statements end for a moment, and closes every connection. */
  close(): Promise<void> {
    return this.#pool.close();
  }

  #reader(lane: LaneName, signal: AbortSignal, endsAt: () => number): Reader {
    return {
      rows: (sql, params) => this.#read(lane, signal, endsAt(), sql, params),
      few: () => ({
        rows: (sql, params) => {
          const end = endsAt();
          return this.#costly.run(signal, end, () => this.#read(lane, signal, end, sql, params));
        },
      }),
    };
  }

  async #read<Row>(
    lane: LaneName,
    signal: AbortSignal,
    endsAt: number,
    sql: string,
    params: readonly Param[] | undefined,
  ): Promise<Row[]> {
    try {
      const session = await this.#lease(lane, signal, endsAt);
      try {
        checkTime(signal, endsAt);
        return await session.execute<Row[]>(sql, params);
      } finally {
        this.#pool.release(session);
      }
    } catch (error) {
      throw toStoaError(error);
    }
  }

  async #attempt<T>(lane: LaneName, signal: AbortSignal, endsAt: number, work: (tx: Tx) => Promise<T>): Promise<T> {
    const session = await this.#lease(lane, signal, endsAt);
    let isUsable = true;
    try {
      checkTime(signal, endsAt);
      await session.command("START TRANSACTION");
      try {
        const result = await work(new OpenTransaction(session, signal, endsAt));
        checkTime(signal, endsAt);
        await commit(session);
        return result;
      } catch (error) {
        // A session that was abandoned is rolled back by the pool; one that cannot roll back is closed, which does it too.
        if (session.state === "leased") {
          session.signal = undefined;
          await session.command("ROLLBACK").catch(() => {
            isUsable = false;
          });
        }
        throw error;
      }
    } finally {
      this.#pool.release(session, isUsable);
    }
  }

  /** @throws the signal's reason */
  #lease(lane: LaneName, signal: AbortSignal, endsAt: number): Session | Promise<Session> {
    signal.throwIfAborted();
    return this.#pool.lease(lane, signal, endsAt);
  }
}

class OpenTransaction implements Tx {
  readonly #session: Session;
  readonly #signal: AbortSignal;
  readonly #endsAt: number;

  constructor(session: Session, signal: AbortSignal, endsAt: number) {
    this.#session = session;
    this.#signal = signal;
    this.#endsAt = endsAt;
  }

  rows<Row>(sql: string, params?: readonly Param[]): Promise<Row[]> {
    checkTime(this.#signal, this.#endsAt);
    return this.#session.execute<Row[]>(sql, params);
  }

  run(sql: string, params?: readonly Param[]): Promise<{ affectedRows: number; insertId: number }> {
    checkTime(this.#signal, this.#endsAt);
    return this.#session.execute<ResultSetHeader>(sql, params);
  }
}

/** COMMIT is not interrupted by a caller that gives up, for its outcome would not be known. */
async function commit(session: Session): Promise<void> {
  session.signal = undefined;
  try {
    await session.command("COMMIT");
  } catch (error) {
    // Where the connection is gone, or about to be, nobody has heard how it ended.
    throw session.state === "leased" && !isCommitInDoubt(error) ? error : outcomeUnknown(error);
  }
}

/** To be called before each statement. @throws the signal's reason; StoaError `unavailable` when the time is over */
function checkTime(signal: AbortSignal, endsAt: number): void {
  signal.throwIfAborted();
  if (performance.now() >= endsAt) throw tooLate();
}

function jitter(attempt: number): Promise<void> {
  return sleep(Math.random() * 5 * 2 ** attempt);
}
