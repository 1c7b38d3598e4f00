import type { QueryError, RowDataPacket } from "mysql2";
import { isMisplaced } from "../database-errors.ts";
import type { Param } from "../queryable.ts";
import type { Link } from "./link.ts";
import { clusterStatement, readState, type StateRow, stateQuery } from "./node-state.ts";
import type { DatabaseAddress } from "./socket.ts";

export interface SessionSettings {
  address: Pick<DatabaseAddress, "syncReads">;
  /** Whether each statement is a transaction of its own. If not, the first statement begins one, which saves a round trip. */
  autocommit: boolean;
  /** How long a statement may run before the server ends it, in milliseconds. Infinity means without limit. */
  statementTimeoutMs: number;
}

/** Called by the driver when a statement has ended. */
type Done = (error: QueryError | null, result?: unknown) => void;

const isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/**
 * One call's use of a connection. It runs one statement at a time. Once the connection is taken away from the call, no further
 * statement of the call starts: another call may be using the connection.
 */
export class Session {
  readonly link: Link;
  /** Aborts when the caller gives up. Undefined while a statement runs that must not be interrupted, such as COMMIT. */
  signal: AbortSignal | undefined;
  /** When the time of the call is over, by `performance.now()`. */
  endsAt: number;
  /** Rejects the promise of the running statement; undefined while no statement runs. */
  #fail: ((reason: unknown) => void) | undefined;
  #onEnded: (() => void) | undefined;
  /** Why the call has lost the connection; undefined while it has it. */
  #lost: { reason: unknown } | undefined;

  constructor(link: Link, signal?: AbortSignal, endsAt = Number.POSITIVE_INFINITY) {
    this.link = link;
    this.signal = signal;
    this.endsAt = endsAt;
    link.user = this;
  }

  get isBusy(): boolean {
    return this.#fail !== undefined;
  }

  /** Whether the connection was taken away from the call, or is closed. */
  get isLost(): boolean {
    return this.#lost !== undefined;
  }

  /** Runs a prepared statement. */
  execute<Result>(sql: string, params: readonly Param[] = []): Promise<Result> {
    return this.#run((done) => this.link.connection.execute<RowDataPacket[]>(sql, params as Param[], done), sql);
  }

  /** Prepares a statement. */
  prepare(sql: string): Promise<void> {
    return this.#run((done) => this.link.connection.prepare(sql, (error) => done(error)), sql);
  }

  /**
   * Runs a statement by the text protocol: not every statement can be prepared.
   * @param timeout how long the server may be silent, in milliseconds. After that the connection cannot be used any more. By
   * default the `DeadlineWatch` decides
   */
  command<Result>(sql: string, timeout?: number): Promise<Result> {
    const query = { sql, ...(timeout && { timeout }) };
    return this.#run((done) => this.link.connection.query<RowDataPacket[]>(query, done));
  }

  /**
   * Whether this statement must be prepared before a transaction, because the transaction could be lost otherwise. When Galera
   * aborts a transaction between two statements, the next one fails. If the next one is a preparation, MariaDB 10.11 drops the
   * error: COMMIT then succeeds, although nothing is stored.
   */
  mustPrepareBefore(sql: string): boolean {
    return this.link.node.engine === "galera" && !this.link.prepared.has(sql);
  }

  /** Sets the session's variables and reads the server's state. @param answerMs how long each statement may take */
  async setUp({ address: { syncReads = true }, ...settings }: SessionSettings, answerMs: number): Promise<void> {
    await this.command(isolation, answerMs);
    await this.command(settingsStatement(settings), answerMs);
    await this.lookAtNode(answerMs);
    const isLimited = Number.isFinite(settings.statementTimeoutMs);
    const more = clusterStatement(this.link.node, { syncReads, isLimited });
    if (more !== undefined) await this.command(more, answerMs);
  }

  /** Asks the server for its state. */
  async lookAtNode(answerMs: number): Promise<void> {
    const [row] = await this.command<StateRow[]>(stateQuery, answerMs);
    if (row !== undefined) this.link.node = readState(row);
  }

  /** Takes the connection away from the call. A running statement goes on, but its promise rejects with `reason`. */
  lose(reason: unknown): void {
    this.#lost ??= { reason };
    this.#fail?.(reason);
    this.#fail = undefined;
  }

  /** Like `lose`. @returns a promise that resolves when the statement has ended; never, if the server stays silent */
  abandon(reason: unknown): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#onEnded = resolve;
    this.lose(reason);
    return promise;
  }

  /**
   * Runs a statement.
   * @param send hands it to the driver
   * @param prepared its text, if success means that the server has prepared it
   * @throws why the call has lost the connection; the error of the driver
   */
  #run<Result>(send: (done: Done) => unknown, prepared?: string): Promise<Result> {
    if (this.#lost !== undefined) return Promise.reject(this.#lost.reason);
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    this.#fail = reject;
    send((error, result) => {
      const fail = this.#fail;
      this.#fail = undefined;
      this.#onEnded?.();
      const { link } = this;
      if (error === null) {
        if (prepared !== undefined && link.node.engine === "galera") link.keep(prepared);
        resolve(result as Result);
        return;
      }
      if (isMisplaced(error)) link.isMisplaced = true;
      if (error.fatal) link.destroy(error);
      fail?.(error);
    });
    return promise;
  }
}

/**
 * Sets the session's variables. MySQL's max_execution_time covers only SELECT. Other statements change few rows, and take long
 * only when they wait for locks, for which both engines have a timeout: half of the time (1 s at least), so that the other half
 * is left for another attempt.
 */
function settingsStatement({ autocommit, statementTimeoutMs }: Omit<SessionSettings, "address">): string {
  const isLimited = Number.isFinite(statementTimeoutMs);
  const ms = isLimited ? Math.ceil(statementTimeoutMs) : 0;
  const lockSeconds = isLimited ? Math.max(1, Math.floor(statementTimeoutMs / 2_000)) : 10;
  return [
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
    `autocommit = ${Number(autocommit)}`,
    `innodb_lock_wait_timeout = ${lockSeconds}`,
    ...(isLimited ? [`lock_wait_timeout = ${lockSeconds}`] : []),
    // Each engine runs one of the following comments and ignores the other.
  ]
    .join(", ")
    .concat(` /*M!100100 , max_statement_time = ${ms / 1000} */ /*!80000 , max_execution_time = ${ms} */`);
}
