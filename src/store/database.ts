import {
  createPool,
  type Pool,
  type PoolConnection,
  type PoolOptions,
  type ResultSetHeader,
  type RowDataPacket,
} from "mysql2";
import { StoaError } from "../errors.ts";
import { isRetryable, toStoaError } from "./database-errors.ts";

/** A value bound to a `?`. LIMIT and OFFSET take strings: the engines refuse the doubles that mysql2 makes of numbers. */
export type Param = string | number | Buffer | null;

/** Something that reads. Outside a transaction each statement sees what was committed when it began. */
export interface Queryable {
  /** Runs a prepared SELECT and returns its rows. */
  rows<Row>(sql: string, params?: readonly Param[]): Promise<Row[]>;
}

/** An open transaction. Functions that need one take a `Tx`, and so cannot be called without. */
export interface Tx extends Queryable {
  /** Runs a prepared INSERT, UPDATE or DELETE. */
  run(sql: string, params?: readonly Param[]): Promise<{ affectedRows: number; insertId: number }>;
}

export interface DatabaseOptions {
  /** Where the server is; a unix socket or a host and port, with the account and the database. */
  address: DatabaseAddress;
  /** The most connections that are open at once. */
  connections: number;
}

export type DatabaseAddress = Pick<
  PoolOptions,
  "host" | "port" | "socketPath" | "user" | "password" | "database" | "ssl"
>;

/** How often a transaction is tried when it loses a deadlock or waits too long for a lock. */
const attempts = 8;
/** After this long, in milliseconds, it is not tried again: less than a wait for a lock takes until the server ends it. */
const patienceMs = 8_000;
/** Calls that wait for a connection; more are refused, so that a slow database does not fill the memory. */
const queueLimit = 5_000;

/** The pool of connections to MySQL or MariaDB, and the one place that opens transactions. */
export class Database {
  readonly #pool: Pool;
  #waiting = 0;
  #inUse = 0;

  constructor(options: DatabaseOptions) {
    this.#pool = createPool({
      ...options.address,
      connectionLimit: options.connections,
      maxIdle: options.connections,
      queueLimit,
      connectTimeout: 5_000,
      charset: "utf8mb4_bin",
      // Statements are a closed set in the source, a few dozen; each connection keeps them prepared.
      maxPreparedStatements: 200,
    });
    this.#pool.on("connection", (connection) => {
      // A failure here shows in the statement that follows: the connection is then lost.
      connection.query("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", ignoreOutcome);
      connection.query(
        "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO', innodb_lock_wait_timeout = 10",
        ignoreOutcome,
      );
    });
  }

  /**
   * A reader for one call. When `signal` aborts, no further statement is started and the abort's reason is thrown.
   * @throws StoaError `unavailable` from its methods when the database cannot answer.
   */
  reader(signal: AbortSignal): Queryable {
    return {
      rows: async <Row>(sql: string, params?: readonly Param[]) => {
        signal.throwIfAborted();
        return guarded(async () => {
          const connection = await this.#acquire();
          try {
            signal.throwIfAborted();
            return await execute<Row[]>(connection, sql, params);
          } finally {
            this.#release(connection);
          }
        });
      },
    };
  }

  /**
   * Runs `work` in one READ COMMITTED transaction and commits it. Whatever `work` throws rolls back and is thrown on;
   * deadlocks and lock waits are retried here for some seconds, with `work` run anew, and nowhere else. When `signal`
   * aborts, no further statement is started, COMMIT included, and the transaction rolls back.
   * @throws StoaError `unavailable` when the database cannot answer or the retries are used up.
   */
  transaction<T>(signal: AbortSignal, work: (tx: Tx) => Promise<T>): Promise<T> {
    return guarded(async () => {
      const givenUpAt = performance.now() + patienceMs;
      for (let attempt = 1; ; attempt++) {
        signal.throwIfAborted();
        try {
          return await this.#attempt(signal, work);
        } catch (error) {
          if (!isRetryable(error) || attempt === attempts || performance.now() > givenUpAt) throw error;
          await jitter(attempt);
        }
      }
    });
  }

  /** Runs one statement of a migration, over the text protocol: not every DDL can be prepared. */
  define(sql: string): Promise<void> {
    return guarded(async () => {
      const connection = await this.#acquire();
      try {
        await command(connection, sql);
      } finally {
        this.#release(connection);
      }
    });
  }

  /** How many connections work for a call, and how many calls wait for one. */
  get load(): { inUse: number; waiting: number } {
    return { inUse: this.#inUse, waiting: this.#waiting };
  }

  /** Waits for running statements and closes every connection. */
  async close(): Promise<void> {
    await new Promise<void>((resolve) => this.#pool.end(() => resolve()));
  }

  async #attempt<T>(signal: AbortSignal, work: (tx: Tx) => Promise<T>): Promise<T> {
    const connection = await this.#acquire();
    let usable = true;
    try {
      signal.throwIfAborted();
      await command(connection, "START TRANSACTION");
      try {
        const result = await work(new OpenTransaction(connection, signal));
        signal.throwIfAborted();
        await command(connection, "COMMIT");
        return result;
      } catch (error) {
        // A connection that cannot roll back is thrown away, which rolls back as well.
        await command(connection, "ROLLBACK").catch(() => {
          usable = false;
        });
        throw error;
      }
    } finally {
      this.#release(connection, usable);
    }
  }

  #acquire(): Promise<PoolConnection> {
    this.#waiting += 1;
    return new Promise((resolve, reject) => {
      this.#pool.getConnection((error, connection) => {
        this.#waiting -= 1;
        if (error) return reject(error);
        this.#inUse += 1;
        resolve(connection);
      });
    });
  }

  #release(connection: PoolConnection, usable = true): void {
    this.#inUse -= 1;
    if (usable) connection.release();
    else connection.destroy();
  }
}

class OpenTransaction implements Tx {
  readonly #connection: PoolConnection;
  readonly #signal: AbortSignal;

  constructor(connection: PoolConnection, signal: AbortSignal) {
    this.#connection = connection;
    this.#signal = signal;
  }

  rows<Row>(sql: string, params?: readonly Param[]): Promise<Row[]> {
    this.#signal.throwIfAborted();
    return execute<Row[]>(this.#connection, sql, params);
  }

  async run(sql: string, params?: readonly Param[]): Promise<{ affectedRows: number; insertId: number }> {
    this.#signal.throwIfAborted();
    return execute<ResultSetHeader>(this.#connection, sql, params);
  }
}

function execute<Result>(connection: PoolConnection, sql: string, params: readonly Param[] = []): Promise<Result> {
  return new Promise((resolve, reject) => {
    connection.execute<RowDataPacket[] | ResultSetHeader>(sql, params as Param[], (error, result) => {
      if (error) reject(error);
      else resolve(result as Result);
    });
  });
}

function command(connection: PoolConnection, sql: string): Promise<void> {
  return new Promise((resolve, reject) => {
    connection.query(sql, (error) => (error ? reject(error) : resolve()));
  });
}

/** The edge of the store: what the driver throws leaves it as a `StoaError`. */
async function guarded<T>(action: () => Promise<T>): Promise<T> {
  try {
    return await action();
  } catch (error) {
    throw error instanceof StoaError ? error : toStoaError(error);
  }
}

function jitter(attempt: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.random() * 5 * 2 ** attempt));
}

function ignoreOutcome(): void {}
