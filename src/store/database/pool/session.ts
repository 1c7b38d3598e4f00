import { connect, isIP, type Socket } from "node:net";
import {
  type Connection,
  type ConnectionOptions,
  createConnection,
  type ResultSetHeader,
  type RowDataPacket,
} from "mysql2";
import { isMisplaced } from "../database-errors.ts";
import type { Param } from "../queryable.ts";
import { clusterStatement, type NodeState, readState, type StateRow, stateQuery } from "./node-state.ts";

/** Where one server is. */
export type ServerAddress = Pick<
  ConnectionOptions,
  "host" | "port" | "socketPath" | "user" | "password" | "database" | "ssl"
>;

/** Where the database is. */
export interface DatabaseAddress extends ServerAddress {
  /** Other servers of the same cluster, in the order in which they are preferred after the first. */
  others?: readonly { host: string; port: number }[];
  /** Whether reads wait, on a cluster, for what its other servers have acknowledged; by default they do. */
  syncReads?: boolean;
}

/** What a connection is for: reads, writes, searches, or work that must not wait for any of these, such as readiness and seals. */
export type LaneName = "reads" | "writes" | "searches" | "priority";

/**
 * Who has the session now. The pool changes it:
 * `opening` → `free` ⇄ `leased`; `leased` → `abandoned` (its caller's statement failed, but still runs) → `free`;
 * any → `closing` (waiting for the server to close the connection) → `closed`.
 */
export type SessionState = "opening" | "free" | "leased" | "abandoned" | "closing" | "closed";

export interface SessionOptions {
  address: ServerAddress & Pick<DatabaseAddress, "syncReads">;
  /** How long a statement may run before the server ends it, in milliseconds. Infinity means without limit. */
  statementTimeoutMs: number;
}

/** How many statements a connection keeps prepared. The source has a few dozen, most of them fixed. */
const maxPrepared = 200;

const isolation = "SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED";

/**
 * One connection to the server. It runs one statement at a time. mysql2 ends a connection by half-closing its socket, and
 * then waits for the server, which may be frozen. So this class makes and destroys the socket.
 */
export class Session {
  state: SessionState = "opening";
  /** Counts the leases. Whoever has an earlier one has lost the session, although somebody else may have it now. */
  lease = 0;
  /** The deadline of the current state, by `performance.now()`. */
  endsAt = Number.POSITIVE_INFINITY;
  /** The lane that uses it; undefined while it is not in use. `Lanes` changes it. */
  lane: LaneName | undefined;
  /** Aborts when the caller gives up. Undefined while a statement runs that must not be interrupted: COMMIT, ROLLBACK. */
  signal: AbortSignal | undefined;
  /** What the server said of itself when the connection was made. */
  node: NodeState = { server: "", engine: "single", isWritable: true };
  /** Whether its server has said that it is the wrong one; see `isMisplaced` of errors. */
  isMisplaced = false;
  /** Whether the pool closes it instead of lending it again. */
  isRetired = false;
  /** Which of the servers of the pool this is, as the pool names it. */
  readonly address: SessionOptions["address"];
  /**
   * Whether each statement is a transaction of its own. Otherwise the first statement also begins a transaction, without a
   * round trip for that. Undefined while the session changes over, and if that has failed.
   */
  autocommit: boolean | undefined = true;
  readonly #socket: Socket;
  readonly #connection: Connection;
  readonly #onLost: (error: unknown) => void;
  /** Rejects the promise of the running statement; undefined while no statement runs. */
  #fail: ((reason: unknown) => void) | undefined;
  #settled: (() => void) | undefined;
  /** The statements that the server has prepared. */
  readonly #prepared = new Set<string>();

  /** @param onLost called once, when the connection has ended without `destroy` */
  constructor(options: SessionOptions, onLost: (error: unknown) => void) {
    const { syncReads: _, ...address } = options.address;
    this.address = options.address;
    this.#socket = openSocket(address);
    this.#onLost = onLost;
    this.#connection = createConnection({
      ...address,
      stream: this.#socket,
      // The pool has a timeout for connecting.
      connectTimeout: 0,
      charset: "utf8mb4_bin",
      maxPreparedStatements: maxPrepared,
    });
    this.#connection.on("error", (error) => this.#lose(error));
    this.#connection.on("end", () => this.#lose(closedByServer()));
    // With TLS, mysql2 does not notice when the socket closes.
    this.#socket.once("close", () => this.#lose(closedByServer()));
  }

  /** Waits until the server takes statements, and sets the session's variables. */
  async setUp({ statementTimeoutMs, address }: SessionOptions): Promise<void> {
    await this.command(isolation);
    await this.command(settings(statementTimeoutMs));
    await this.lookAtNode();
    const { syncReads = true } = address;
    const more = clusterStatement(this.node, { syncReads, isLimited: Number.isFinite(statementTimeoutMs) });
    if (more !== undefined) await this.command(more);
  }

  /** Asks the server for its state. */
  async lookAtNode(): Promise<NodeState> {
    const [row] = await this.#query<StateRow[]>(stateQuery);
    if (row !== undefined) this.node = readState(row);
    return this.node;
  }

  /** The server's id of this connection. */
  get threadId(): number {
    return this.#connection.threadId;
  }

  /** Begins a lease. */
  lend(signal: AbortSignal, endsAt: number): void {
    this.state = "leased";
    this.lease += 1;
    this.signal = signal;
    this.endsAt = endsAt;
  }

  /** Whether the caller with this lease still has the session. */
  isHeldBy(lease: number): boolean {
    return this.state === "leased" && this.lease === lease;
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
        if (error) return reject(error);
        this.#keep(sql);
        resolve(result as Result);
      });
    });
  }

  /**
   * Whether a transaction can be lost if this statement is prepared in it. When Galera aborts a transaction between two
   * statements, the next one fails. If the server is preparing a statement then, nobody gets that error (MariaDB 10.11), and
   * the COMMIT succeeds: of nothing.
   */
  mustPrepareBefore(sql: string): boolean {
    return this.node.engine === "galera" && !this.#prepared.has(sql);
  }

  /** Prepares a statement. */
  prepare(sql: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#fail = reject;
      this.#connection.prepare(sql, (error) => {
        this.#settle(error);
        if (error) return reject(error);
        this.#keep(sql);
        resolve();
      });
    });
  }

  /** Runs a statement by the text protocol: not every statement can be prepared. */
  async command(sql: string): Promise<void> {
    await this.#query(sql);
  }

  /** Changes over. No transaction may be open. */
  async setAutocommit(autocommit: boolean): Promise<void> {
    this.autocommit = undefined;
    await this.command(`SET autocommit = ${Number(autocommit)}`);
    this.autocommit = autocommit;
  }

  /**
   * Rejects the promise of the running statement with `reason`. The statement itself goes on.
   * @returns a promise that resolves when the statement has ended; never, if the server stays silent
   */
  abandon(reason: unknown): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#settled = resolve;
    this.#fail?.(reason);
    return promise;
  }

  /** Asks the server to close the connection; `onLost` is called when it has. If that takes too long, call `destroy`. */
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

  /** A statement is prepared. The driver forgets one for each that is too many, and would prepare that one again unnoticed. */
  #keep(sql: string): void {
    this.#prepared.add(sql);
    if (this.node.engine === "galera" && this.#prepared.size >= maxPrepared) this.isRetired = true;
  }

  #settle(error: { fatal?: boolean } | null): void {
    this.#fail = undefined;
    if (error !== null && isMisplaced(error)) this.isMisplaced = true;
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

/** Opens the socket that the driver uses. */
export function openSocket({ socketPath, host = "localhost", port = 3306 }: ServerAddress): Socket {
  const socket =
    socketPath === undefined ? connect({ host, port, noDelay: true, keepAlive: true }) : connect(socketPath);
  // With an address as the host, mysql2 would compare the certificate with "localhost". Node.js reads the name from here.
  if (isIP(host) !== 0) Object.assign(socket, { _host: host });
  return socket;
}

/**
 * The session's variables. MySQL's max_execution_time covers SELECT only. The other statements of a call touch a few rows,
 * and take long only when they wait for locks; both engines have a timeout for that. Waiting for a lock takes at most half
 * the time, so that the other half is left for another attempt.
 */
function settings(statementTimeoutMs: number): string {
  const isLimited = Number.isFinite(statementTimeoutMs);
  const ms = isLimited ? Math.ceil(statementTimeoutMs) : 0;
  const lockSeconds = isLimited ? Math.max(1, Math.floor(statementTimeoutMs / 2_000)) : 10;
  return [
    "SET SESSION sql_mode = 'STRICT_ALL_TABLES,NO_ENGINE_SUBSTITUTION,ERROR_FOR_DIVISION_BY_ZERO'",
    `innodb_lock_wait_timeout = ${lockSeconds}`,
    ...(isLimited ? [`lock_wait_timeout = ${lockSeconds}`] : []),
    // Each engine runs one of the following comments and ignores the other.
  ]
    .join(", ")
    .concat(` /*M!100100 , max_statement_time = ${ms / 1000} */ /*!80000 , max_execution_time = ${ms} */`);
}

function closedByServer(): Error {
  return Object.assign(new Error("The server closed the connection."), { code: "PROTOCOL_CONNECTION_LOST" });
}
