import { addAbortSignal } from "node:stream";
import { type Connection, createConnection, type ResultSetHeader, type RowDataPacket } from "mysql2";
import { createDeferred } from "../../timing/wait.ts";
import { type HostAddress, serversOf } from "../database/pool/hosts.ts";
import { type DatabaseAddress, openSocket } from "../database/pool/session.ts";
import type { Param, Queryable } from "../database/queryable.ts";

/** How long connecting may take, in milliseconds. */
const connectMs = 10_000;

/**
 * Values are read and written unchanged: an id of 0 does not become a new id, and times are UTC. Statements have no timeout;
 * each engine runs one of the comments.
 */
export const sessionSettings =
  "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,NO_AUTO_VALUE_ON_ZERO', time_zone = '+00:00' " +
  "/*M!100100 , max_statement_time = 0 */ /*!80000 , max_execution_time = 0 */";

/** One connection outside the pool, without timeouts, for work that reads or writes the whole database. */
export class Link implements Queryable {
  readonly #connection: Connection;
  /** Aborts when the connection is lost or the caller gives up. */
  readonly #gone = new AbortController();

  private constructor({ syncReads: _, ...address }: HostAddress, signal: AbortSignal) {
    const socket = openSocket(address);
    this.#connection = createConnection({
      ...address,
      stream: socket,
      connectTimeout: connectMs,
      charset: "utf8mb4_bin",
      supportBigNumbers: true,
    });
    const lose = (error: unknown) => this.#gone.abort(error);
    this.#connection.on("error", lose);
    socket.once("close", () => lose(new Error("The server closed the connection.")));
    const giveUp = () => {
      lose(signal.reason);
      this.#connection.destroy();
      socket.destroy();
    };
    if (signal.aborted) giveUp();
    else signal.addEventListener("abort", giveUp, { once: true });
  }

  /**
   * Connects to the first server of the address that answers.
   * @throws the signal's reason; the driver's error where no server can be reached
   */
  static async open(address: DatabaseAddress, signal: AbortSignal): Promise<Link> {
    const servers = serversOf(address);
    for (const server of servers.slice(0, -1)) {
      const link = await Link.#open(server, signal).catch(() => undefined);
      if (link !== undefined) return link;
      signal.throwIfAborted();
    }
    return Link.#open(servers.at(-1) as HostAddress, signal);
  }

  static async #open(address: HostAddress, signal: AbortSignal): Promise<Link> {
    const link = new Link(address, signal);
    await link.run(sessionSettings);
    return link;
  }

  rows<Row>(sql: string, params: readonly Param[] = []): Promise<Row[]> {
    return this.#query<RowDataPacket[]>(sql, params) as Promise<unknown> as Promise<Row[]>;
  }

  /** Runs a statement that returns no rows. */
  async run(sql: string): Promise<void> {
    await this.#query<ResultSetHeader>(sql, []);
  }

  /** The rows of a SELECT, one by one, as the bytes that the server sends. The server waits when the caller is slow. */
  async *stream(sql: string): AsyncGenerator<(Buffer | null)[]> {
    const { signal } = this.#gone;
    signal.throwIfAborted();
    const rows = addAbortSignal(
      signal,
      this.#connection.query({ sql, rowsAsArray: true, typeCast: false }).stream({ highWaterMark: 100 }),
    );
    try {
      yield* rows as AsyncIterable<(Buffer | null)[]>;
    } catch (error) {
      signal.throwIfAborted();
      throw error;
    }
  }

  /** Closes the connection. An open transaction is rolled back. */
  close(): void {
    this.#connection.destroy();
  }

  #query<Result extends RowDataPacket[] | ResultSetHeader>(sql: string, params: readonly Param[]): Promise<Result> {
    const { signal } = this.#gone;
    const { promise, resolve, reject } = createDeferred<Result>({ signal });
    if (!signal.aborted) {
      this.#connection.query<Result>(sql, params as Param[], (error, result) => {
        if (error) reject(error);
        else resolve(result);
      });
    }
    return promise;
  }
}
