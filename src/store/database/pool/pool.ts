import type { Socket } from "node:net";
import { createPool, type Pool as DriverPool, type PoolConnection } from "mysql2";
import type { StoaError } from "../../../errors.ts";
import { FairQueue } from "../../../timing/fair-queue.ts";
import { parties } from "../../../timing/parties.ts";
import { waitFor, withTimeout } from "../../../timing/wait.ts";
import { checkDeadline, type DeadlineWatch, deadlineExceeded, unavailable, type Waiting } from "./deadline.ts";
import { driverOptions, Link } from "./link.ts";
import { Session, type SessionSettings } from "./session.ts";
import { type DatabaseAddress, openSocket } from "./socket.ts";

/** How many calls may wait for a connection of one pool. More are refused, so that a slow database does not fill the memory. */
const maxWaiting = 5_000;
/** How long ending the statement of a call that has left may take before its connection is closed, in milliseconds. */
const abandonedMs = 2_000;
/** How long the pool, when it closes, waits for running statements, and then for connections to close, in milliseconds. */
const closeMs = 2_000;

export interface PoolOptions extends SessionSettings {
  address: DatabaseAddress;
  /** The maximum number of open connections. */
  connections: number;
  /** How long connecting, and then each statement that sets up the session, may take, in milliseconds. */
  connectTimeoutMs: number;
}

/** What the pools of a database share. */
export interface PoolHost {
  readonly watch: DeadlineWatch;
  opened(link: Link): void;
  closed(link: Link): void;
  /** An error of a connection's server was one that `isMisplaced`. Retires the connections to that server. */
  leave(link: Link): void;
  /** Ends the statement of a call that has left. @throws the driver's error when the server does not answer */
  kill(session: Session): Promise<void>;
  /** A statement has not ended although the server was asked to end it: the server may be gone. */
  silent(): void;
}

interface Waiter extends Waiting {
  readonly party: unknown;
  resolve(): void;
  reject(reason: unknown): void;
}

/**
 * Connections of one kind. It adds to the pool of mysql2 a bounded queue of waiting calls, and a deadline for each call. When a
 * call's time is over or its caller has left, the call loses the connection, and its statement is ended in the server. If
 * that takes too long, the connection is closed.
 */
export class Pool {
  readonly #options: PoolOptions;
  readonly #host: PoolHost;
  readonly #driver: DriverPool;
  /** How many connections are taken or being opened. That of a call that has left counts until it is free or closed. */
  #taken = 0;
  /** The calls that wait for a connection. */
  readonly #waiting = new FairQueue<Waiter>();
  /** The calls that have a connection. */
  readonly #sessions = new Set<Session>();
  readonly #links = new Map<PoolConnection, Link>();
  /** The sockets of all connections, also of those that are being opened. */
  readonly #sockets = new Set<Socket>();
  /** Set while `#take` asks the driver for a connection: the socket that the driver opens for that. */
  #opened: Socket | undefined;
  /** Resolves when no connection is taken any more; undefined while the pool is open. */
  #closing: PromiseWithResolvers<void> | undefined;

  constructor(options: PoolOptions, host: PoolHost) {
    const { address, connections, connectTimeoutMs } = options;
    this.#options = options;
    this.#host = host;
    this.#driver = createPool({
      ...driverOptions(address, connectTimeoutMs),
      connectionLimit: connections,
      stream: () => this.#openSocket(),
    });
    host.watch.watch(this.#waiting, (waiter, reason) => this.#refuse(waiter, reason));
    host.watch.watch(this.#sessions, (session, reason) => void this.#abandon(session, reason));
  }

  /** How many connections work for a call, and how many calls wait for one. */
  get load(): { inUse: number; waiting: number } {
    return { inUse: this.#taken, waiting: this.#waiting.size };
  }

  /**
   * Lends a connection. The caller must give it back by `release`. Where calls wait, the `parties` of their signals take turns.
   * @param endsAt when the caller's time is over, by `performance.now()`
   * @throws StoaError `unavailable`; the signal's reason; the error of connecting
   */
  lend(signal: AbortSignal, endsAt: number): Promise<Session> {
    checkDeadline(signal, endsAt);
    if (this.#closing !== undefined) throw stopping();
    if (this.#taken >= this.#options.connections) {
      return this.#wait(signal, endsAt).then(() => this.#take(signal, endsAt));
    }
    this.#taken += 1;
    return this.#take(signal, endsAt);
  }

  /** Takes a connection back. @param isUsable false when it may still be in a transaction */
  release(session: Session, isUsable = true): void {
    // The connection may have been taken away from the call.
    if (!this.#sessions.delete(session)) return;
    const { link } = session;
    if (link.isMisplaced) this.#host.leave(link);
    if (!isUsable) link.isRetired = true;
    this.#giveBack(link);
  }

  /** Refuses waiting calls, gives running statements a moment, and closes every connection. */
  async close(): Promise<void> {
    this.#closing = Promise.withResolvers<void>();
    for (const waiter of this.#waiting) this.#refuse(waiter, stopping());
    const endsAt = performance.now() + closeMs;
    for (const session of this.#sessions) session.endsAt = Math.min(session.endsAt, endsAt);
    if (this.#taken > 0) await withTimeout(this.#closing.promise, closeMs);
    const closed = [...this.#sockets].map((socket) => new Promise((resolve) => socket.once("close", resolve)));
    // The driver says good-bye on each connection. A frozen server does not answer that.
    this.#driver.end(() => {});
    await withTimeout(Promise.all(closed), closeMs);
    for (const socket of this.#sockets) socket.destroy();
  }

  #wait(signal: AbortSignal, endsAt: number): Promise<void> {
    if (this.#waiting.size >= maxWaiting) throw unavailable("Too many calls wait for the database.");
    const party = parties.get(signal) ?? signal;
    return new Promise((resolve, reject) => {
      this.#waiting.add(party, { party, resolve, reject, isBusy: true, signal, endsAt });
    });
  }

  #refuse(waiter: Waiter, reason: unknown): void {
    this.#waiting.delete(waiter.party, waiter);
    waiter.reject(reason);
  }

  /** Takes a free connection of the driver's pool, or lets that open one. */
  #take(signal: AbortSignal, endsAt: number): Promise<Session> {
    let socket: Socket | undefined;
    this.#opened = undefined;
    const { promise, resolve, reject } = Promise.withResolvers<Session>();
    this.#driver.getConnection((error, connection) => {
      const link = this.#links.get(connection);
      if (error) reject(this.#closing === undefined ? error : stopping());
      else if (socket !== undefined) resolve(this.#setUp(connection, socket, signal, endsAt));
      else if (link !== undefined && !link.isClosed) resolve(this.#begin(link, signal, endsAt));
      else {
        // The connection has been closed meanwhile.
        connection.destroy();
        resolve(this.#take(signal, endsAt));
      }
    });
    socket = this.#opened;
    return socket === undefined ? promise : this.#orLeave(promise, signal, endsAt);
  }

  #begin(link: Link, signal: AbortSignal, endsAt: number): Session {
    const session = new Session(link, signal, endsAt);
    this.#sessions.add(session);
    return session;
  }

  /** Waits for a connection that is being opened. If the caller leaves first, the next caller gets the connection. */
  async #orLeave(taking: Promise<Session>, signal: AbortSignal, endsAt: number): Promise<Session> {
    taking.catch(() => this.#giveBack());
    try {
      const ms = endsAt - performance.now();
      return await waitFor(taking, { signal, ms, onTimeout: ({ reject }) => reject(deadlineExceeded()) });
    } catch (error) {
      taking.then((session) => this.release(session)).catch(() => {});
      throw error;
    }
  }

  #openSocket(): Socket {
    const socket = openSocket(this.#options.address);
    this.#sockets.add(socket);
    socket.once("close", () => this.#sockets.delete(socket));
    this.#opened = socket;
    return socket;
  }

  async #setUp(connection: PoolConnection, socket: Socket, signal: AbortSignal, endsAt: number): Promise<Session> {
    const link = new Link(connection, socket);
    this.#links.set(connection, link);
    link.onClosed(() => {
      this.#links.delete(connection);
      this.#host.closed(link);
    });
    try {
      await new Session(link).setUp(this.#options, this.#options.connectTimeoutMs);
    } catch (error) {
      link.destroy(error);
      throw error;
    }
    this.#host.opened(link);
    return this.#begin(link, signal, endsAt);
  }

  /** Takes the connection away from a call, and ends its statement. After that the next call gets the connection. */
  async #abandon(session: Session, reason: unknown): Promise<void> {
    this.#sessions.delete(session);
    const { link } = session;
    const ended = Promise.all([this.#host.kill(session), session.abandon(reason)]);
    try {
      const isFree = ended.then(() => new Session(link).command("ROLLBACK"));
      await waitFor(isFree, { ms: abandonedMs, onTimeout: ({ reject }) => reject(deadlineExceeded()) });
    } catch (error) {
      link.destroy(error);
      this.#host.silent();
    }
    this.#giveBack(link);
  }

  /** Frees the place of a connection, which may have failed to open. The next call that waits gets the place. */
  #giveBack(link?: Link): void {
    link?.release();
    while (this.#waiting.size > 0) {
      const next = this.#waiting.take() as Waiter;
      try {
        // The caller may have left since the watch looked.
        checkDeadline(next.signal, next.endsAt);
        next.resolve();
        return;
      } catch (error) {
        next.reject(error);
      }
    }
    this.#taken -= 1;
    if (this.#taken === 0) this.#closing?.resolve();
  }
}

function stopping(): StoaError {
  return unavailable("The service is stopping.");
}
