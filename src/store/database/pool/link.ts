import type { Socket } from "node:net";
import { type Connection, type ConnectionOptions, createConnection, type PoolConnection } from "mysql2";
import type { NodeState } from "./node-state.ts";
import { type DatabaseAddress, openSocket } from "./socket.ts";

/** How many statements a connection keeps prepared. The source has a few dozen, most of them fixed. */
const maxPrepared = 200;

/** One connection to the server, and what is known of it. */
export class Link {
  readonly connection: Connection | PoolConnection;
  readonly #socket: Socket;
  /** The session that uses it; undefined while it is free. When the connection is closed, the session is told. */
  user: { lose(reason: unknown): void } | undefined;
  /** What the server said of itself when the connection was made. */
  node: NodeState = { server: "", engine: "single" };
  /** The statements that the server has prepared, as reported to `keep`. */
  readonly prepared = new Set<string>();
  /** Whether its server has said that it is the wrong one; see `isMisplaced` of errors. */
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
    // The running statement has already got the driver's error.
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
   * Remembers that the server has prepared a statement. Beyond its maximum, the driver drops old statements without a notice.
   * A connection that has reached the maximum is therefore given up.
   */
  keep(sql: string): void {
    this.prepared.add(sql);
    if (this.prepared.size >= maxPrepared) this.isRetired = true;
  }

  /** Nobody uses the connection any more: gives it back to its pool, or closes it if it is retired. */
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

  /** Tells the server that the connection ends, which then closes it. If that takes longer than `ms`, closes it here. */
  end(ms: number): void {
    this.connection.end();
    this.#socket.setTimeout(ms, () => this.#socket.destroy());
  }
}

/** The driver's options for all connections. */
export function driverOptions({ syncReads: _, ...server }: DatabaseAddress, connectTimeout: number): ConnectionOptions {
  const charset = "utf8mb4_bin";
  // Everything with values is prepared, and a prepared statement is always one. See `Tx.runAtCommit`.
  return { ...server, connectTimeout, charset, maxPreparedStatements: maxPrepared, multipleStatements: true };
}

function connectionLost(message: string): Error {
  return Object.assign(new Error(message), { code: "PROTOCOL_CONNECTION_LOST" });
}
