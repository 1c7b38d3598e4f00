import type { Socket } from "node:net";
import { type Connection, type ConnectionOptions, createConnection, type PoolConnection } from "mysql2";
import type { NodeState } from "./node-state.ts";
import { type DatabaseAddress, openSocket } from "./socket.ts";

/** How many statements a connection keeps prepared. */
const maxPrepared = 200;

/** One connection to the server, and its state. */
export class Link {
  readonly connection: Connection | PoolConnection;
  readonly #socket: Socket;
  /** The session that uses it; undefined while it is free. When the connection is closed, the session is told. */
  user: { lose(reason: unknown): void } | undefined;
  /** What the server said of itself when the connection was made. */
  node: NodeState = { server: "", engine: "single" };
  /** The statements that are known to be prepared. Only recorded on Galera: see `Session.mustPrepareBefore`. */
  readonly prepared = new Set<string>();
  /** Whether an error of its server was one that `isMisplaced`. */
  isMisplaced = false;
  /** Whether it is closed instead of lent again. */
  isRetired = false;
  isClosed = false;

  constructor(connection: Connection | PoolConnection, socket: Socket) {
    this.connection = connection;
    this.#socket = socket;
    const onGone = () => {
      if (!this.isClosed) this.destroy(connectionLost("The server closed the connection."));
    };
    // The driver has already passed the error to the running statement.
    connection.on("error", onGone);
    socket.once("close", onGone);
  }

  /** Opens a connection outside of a pool. Statements may follow at once. */
  static open(address: DatabaseAddress, connectTimeout: number): Link {
    const stream = openSocket(address);
    return new Link(createConnection({ ...driverOptions(address, connectTimeout), stream }), stream);
  }

  /** Calls `action` once, when the connection is closed. */
  onClosed(action: () => void): void {
    this.#socket.once("close", action);
  }

  /**
   * Records that the server has prepared a statement. Above `maxPrepared` the driver drops old statements and does not tell. So
   * a connection that has reached this number is retired.
   */
  keep(sql: string): void {
    this.prepared.add(sql);
    if (this.prepared.size >= maxPrepared) this.isRetired = true;
  }

  /** Ends the use of the connection: gives it back to its pool, or closes it if it is retired. */
  release(): void {
    this.user = undefined;
    if (this.isRetired) this.destroy(connectionLost("The connection was given up."));
    else if ("release" in this.connection) this.connection.release();
  }

  /** Closes the connection when its user gives it back, or now if it has none. */
  retire(): void {
    this.isRetired = true;
    if (this.user === undefined) this.release();
  }

  /** Closes the connection at once, whatever runs on it. */
  destroy(reason: unknown): void {
    this.isClosed = true;
    this.connection.destroy();
    this.#socket.destroy();
    this.user?.lose(reason);
  }

  /** Asks the server to close the connection. If the server is silent for `ms` milliseconds, closes it from here. */
  end(ms: number): void {
    this.connection.end();
    this.#socket.setTimeout(ms, () => this.#socket.destroy());
  }
}

/** The driver's options for all connections. */
export function driverOptions({ syncReads: _, ...server }: DatabaseAddress, connectTimeout: number): ConnectionOptions {
  const charset = "utf8mb4_bin";
  // `Tx.runAtCommit` needs multiple statements. They are safe, because values of clients are only in prepared statements, and
  // these are single.
  return { ...server, connectTimeout, charset, maxPreparedStatements: maxPrepared, multipleStatements: true };
}

function connectionLost(message: string): Error {
  return Object.assign(new Error(message), { code: "PROTOCOL_CONNECTION_LOST" });
}
