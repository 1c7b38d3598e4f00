import { connect, isIP, type Socket } from "node:net";
import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  type ResultSetHeader,
  type RowDataPacket,
} from "mysql2";

export type DatabaseAddress = Pick<
  ConnectionOptions,
  "host" | "port" | "socketPath" | "user" | "password" | "database" | "ssl"
>;

/** What a connection is for: reads, writes, or what must wait for neither: readiness and seals. */
export type LaneName = "reads" | "writes" | "vital";

/** A value bound to a `?`. LIMIT and OFFSET take strings: the engines refuse the doubles that mysql2 makes of numbers. */
export type Param = string | number | Buffer | null;

/**
 * Who has the session now. The pool changes it:
 * `opening` → `free` ⇄ `leased`; `leased` → `abandoned` (its caller was told, its statement still runs) → `free`;
 * any → `closing` (it says goodbye) → `closed`.
 */
export type SessionState = "opening" | "free" | "leased" | "abandoned" | "closing" | "closed";

export interface SessionOptions {
  address: DatabaseAddress;
  /** The time after which the server ends a statement by itself, in milliseconds; Infinity: never. */
  statementMs: number;
}

const isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";
/** Tells servers behind one address apart: ids of connections mean something on their own server only. */
const identity = "SELECT CONCAT_WS(' ', @@hostname, @@port, @@datadir) AS server";

/**
 * One connection to the server, which runs one statement at a time. mysql2 ends a connection by half-closing its socket,
 * and then waits for a server that may be frozen. So the socket is made and destroyed here.
 */
export class Session {
  state: SessionState = "opening";
  /** When the current state ends at the latest, by `performance.now()`. */
  endsAt = Number.POSITIVE_INFINITY;
  /** What it is used for; undefined while nobody uses it. `Lanes` changes it. */
  lane: LaneName | undefined;
  /** Aborts when the caller gives up. Undefined while a statement runs that has to end by itself: COMMIT, ROLLBACK. */
  signal: AbortSignal | undefined;
  /** Which server this is; see `identity`. */
  server = "";
  readonly #socket: Socket;
  readonly #connection: Connection;
  readonly #onLost: (error: unknown) => void;
  /** Rejects the promise of the running statement; undefined while none runs. */
  #fail: ((reason: unknown) => void) | undefined;
  #settled: (() => void) | undefined;

  /** @param onLost called once, when the connection has ended otherwise than by `destroy` */
  constructor({ address }: SessionOptions, onLost: (error: unknown) => void) {
    this.#socket = openSocket(address);
    this.#onLost = onLost;
    this.#connection = createConnection({
      ...address,
      stream: this.#socket,
      // The pool watches the time that connecting takes.
      connectTimeout: 0,
      charset: "utf8mb4_bin",
      // Statements are a closed set in the source, a few dozen; each connection keeps them prepared.
      maxPreparedStatements: 200,
    });
    this.#connection.on("error", (error) => this.#lose(error));
    this.#connection.on("end", () => this.#lose(closedByServer()));
    // With TLS mysql2 hears of no end.
    this.#socket.once("close", () => this.#lose(closedByServer()));
  }

  /** Waits until the server takes statements, and sets the session up. */
  async setUp({ statementMs }: SessionOptions): Promise<void> {
    await this.command(isolation);
    await this.command(settings(statementMs));
    const [row] = await this.#query<{ server: string }[]>(identity);
    this.server = row?.server ?? "";
  }

  /** The server's id of this connection. */
  get threadId(): number {
    return this.#connection.threadId;
  }

  get isBusy(): boolean {
    return this.#fail !== undefined;
  }

  /** Runs a prepared statement. */
  execute<Result>(sql: string, params: readonly Param[] = []): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#connection.execute<RowDataPacket[] | ResultSetHeader>(sql, params as Param[], (error, result) => {
        this.#settle(error);
        if (error) reject(error);
        else resolve(result as Result);
      });
    });
  }

  /** Runs a statement over the text protocol: not every statement can be prepared. */
  async command(sql: string): Promise<void> {
    await this.#query(sql);
  }

  /**
   * Has whoever waits for the running statement fail with `reason`.
   * @returns a promise that resolves when the statement has ended; never, if the server stays silent
   */
  abandon(reason: unknown): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#settled = resolve;
    this.#fail?.(reason);
    return promise;
  }

  /** Says goodbye; the server then closes the connection, of which `onLost` tells. The caller bounds the time by `destroy`. */
  end(): void {
    if (this.state === "closed") return;
    this.state = "closing";
    this.#connection.end();
  }

  /** Closes the socket at once. A statement that runs fails with `reason`. */
  destroy(reason: unknown): void {
    if (this.state === "closed") return;
    this.state = "closed";
    const fail = this.#fail;
    this.#fail = undefined;
    this.#connection.destroy();
    this.#socket.destroy();
    fail?.(reason);
  }

  #query<Result>(sql: string): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#connection.query<RowDataPacket[]>(sql, (error, result) => {
        this.#settle(error);
        if (error) reject(error);
        else resolve(result as Result);
      });
    });
  }

  #settle(error: { fatal?: boolean } | null): void {
    this.#fail = undefined;
    if (error?.fatal) this.#lose(error);
    this.#settled?.();
    this.#settled = undefined;
  }

  #lose(error: unknown): void {
    if (this.state === "closed") return;
    this.destroy(error);
    this.#onLost(error);
  }
}

/** Connects to the server; the driver then speaks over this socket. */
export function openSocket({ socketPath, host = "localhost", port = 3306 }: DatabaseAddress): Socket {
  const socket =
    socketPath === undefined ? connect({ host, port, noDelay: true, keepAlive: true }) : connect(socketPath);
  // What a certificate is compared with where the host is an address: mysql2 would have it compared with "localhost".
  if (isIP(host) !== 0) Object.assign(socket, { _host: host });
  return socket;
}

/**
 * What holds for every statement of the session. MySQL's max_execution_time covers SELECT only. Every other statement of a
 * call touches a few rows, so what can take long is waiting for locks, which has limits of its own in both engines. A lock
 * that is not granted in half the time leaves the other half for another attempt.
 */
function settings(statementMs: number): string {
  const isLimited = Number.isFinite(statementMs);
  const ms = isLimited ? Math.ceil(statementMs) : 0;
  const lockSeconds = isLimited ? Math.max(1, Math.floor(statementMs / 2_000)) : 10;
  return [
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
    `innodb_lock_wait_timeout = ${lockSeconds}`,
    ...(isLimited ? [`lock_wait_timeout = ${lockSeconds}`] : []),
    // Each engine reads its own of the following comments, and ignores the other's.
  ]
    .join(", ")
    .concat(` /*M!100100 , max_statement_time = ${ms / 1000} */ /*!80000 , max_execution_time = ${ms} */`);
}

function closedByServer(): Error {
  return Object.assign(new Error("The server closed the connection."), { code: "PROTOCOL_CONNECTION_LOST" });
}
