import { deadlineExceeded, unavailable } from "./deadline.ts";
import { FreeSessions } from "./free-sessions.ts";
import { HostMonitor } from "./host-monitor.ts";
import { type HostAddress, Hosts } from "./hosts.ts";
import { Lanes } from "./lanes.ts";
import { seesCluster } from "./sees-cluster.ts";
import { type DatabaseAddress, type LaneName, Session, type SessionOptions } from "./session.ts";
import { StatementKiller } from "./statement-killer.ts";
import type { Waiter } from "./wait-queue.ts";

export interface PoolOptions extends Omit<SessionOptions, "address"> {
  address: DatabaseAddress;
  /** The maximum number of open connections. */
  connections: number;
  /** How long connecting may take, in milliseconds. */
  connectTimeoutMs: number;
}

/**
 * How often the pool looks for passed deadlines and aborted calls, in milliseconds. One timer serves all calls: a timer and
 * a listener for each statement would cost more than the rest of its accounting.
 */
const tickMs = 100;
/** How long the statement of an abandoned session may go on before the connection is closed, in milliseconds. */
const abandonedTimeoutMs = 2_000;
/** How long running statements, and then the closing of connections, may take when the pool closes, in milliseconds. */
const closeTimeoutMs = 2_000;
/** How often connections are given up because their server was read-only from the start, in milliseconds. */
const minLeaveIntervalMs = 1_000;

/**
 * The connections of a process. Each lease has a deadline. When a statement is late or its caller has given up, the pool
 * takes the session away and ends the statement in the server. If that takes too long, it replaces the connection.
 */
export class Pool {
  readonly #options: PoolOptions;
  /** Every session that is not closed. */
  readonly #sessions = new Set<Session>();
  readonly #free = new FreeSessions();
  readonly #lanes: Lanes;
  readonly #killer: StatementKiller;
  readonly #hosts: Hosts;
  readonly #monitor: HostMonitor;
  #isCluster = false;
  #whenChosen: Promise<void> | undefined;
  /** When sessions were last given up because of their server, by `performance.now()`. */
  #leftAt = Number.NEGATIVE_INFINITY;
  #opening = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Resolves `close` when the last session is gone; undefined while the pool is open. */
  #closed: PromiseWithResolvers<void> | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#lanes = new Lanes(options.connections);
    this.#killer = new StatementKiller(options);
    this.#hosts = new Hosts(options.address);
    this.#monitor = new HostMonitor({
      ...options,
      hosts: this.#hosts,
      onSwitch: (before, isGone) => this.#leaveHost(before, isGone),
    });
  }

  /** Whether the database has several servers, as far as is known: several are named, or connections tell. */
  get isCluster(): boolean {
    return this.#hosts.areMany || this.#isCluster;
  }

  /** How many connections work for a call, and how many calls wait for one. */
  get load(): { inUse: number; waiting: number } {
    return { inUse: this.#sessions.size - this.#free.size - this.#opening, waiting: this.#lanes.waiting };
  }

  /**
   * Leases a session. The caller must give it back by `release`.
   * @param lane what the session is for
   * @param autocommit how the caller uses it; the session may have to change over
   * @param endsAt when the caller's time is over, by `performance.now()`
   * @throws StoaError `unavailable`; the signal's reason; the error of connecting
   */
  lease(lane: LaneName, autocommit: boolean, signal: AbortSignal, endsAt: number): Session | Promise<Session> {
    // Calls wait in this lane only while there is no free session or no room. So this call overtakes nobody.
    const session = this.#lanes.hasRoom(lane) ? this.#free.take(autocommit) : undefined;
    if (session !== undefined) {
      this.#watch();
      return this.#give(session, { lane, signal, endsAt });
    }
    if (this.#closed !== undefined) throw unavailable("The service is stopping.");
    if (this.#lanes.isQueueFull(lane)) throw unavailable("Too many calls wait for the database.");
    const promise = this.#lanes.wait(lane, autocommit, signal, endsAt);
    this.#openMore();
    this.#watch();
    return promise;
  }

  /** Takes a session back from the lease that it had. `isUsable` is false when it may still be in a transaction. */
  release(session: Session, lease: number, isUsable = true): void {
    // The pool already has an abandoned session, and may have lent it again. A lost session is gone.
    if (!session.isHeldBy(lease)) return;
    if (!isUsable) this.#close(session, unavailable("The connection was abandoned."));
    else if (!session.isMisplaced || !this.#leaveServer(session)) this.#offer(session);
  }

  /** Refuses waiting calls, gives running statements a moment, and closes every connection. */
  async close(): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = Promise.withResolvers<void>();
      this.#monitor.stop();
      const error = unavailable("The service is stopping.");
      for (const waiter of this.#lanes.removeLate(Number.POSITIVE_INFINITY)) waiter.reject(error);
      const endsAt = performance.now() + closeTimeoutMs;
      for (const session of this.#sessions) session.endsAt = Math.min(session.endsAt, endsAt);
      for (const session of this.#free.takeAll()) this.#sayGoodbye(session);
      this.#settleClose();
      this.#watch();
    }
    await this.#closed.promise;
  }

  /** Puts a session among the free ones, and gives it to a waiting call if there is one. */
  #offer(session: Session): void {
    if (session.isRetired) {
      this.#close(session, leftServer());
      return;
    }
    this.#lanes.leave(session);
    session.state = "free";
    session.signal = undefined;
    this.#free.add(session);
    this.#serve();
    if (this.#closed !== undefined) for (const idle of this.#free.takeAll()) this.#sayGoodbye(idle);
  }

  /** Gives free sessions to waiting calls. */
  #serve(): void {
    while (this.#free.size > 0) {
      const waiter = this.#lanes.removeNext();
      if (waiter === undefined) return;
      waiter.resolve(this.#give(this.#free.take(waiter.autocommit) as Session, waiter));
    }
  }

  #give(session: Session, { lane, signal, endsAt }: Pick<Waiter, "lane" | "signal" | "endsAt">): Session {
    this.#lanes.take(session, lane);
    session.lend(signal, endsAt);
    return session;
  }

  /** Opens a session for each waiting call, up to the maximum. */
  #openMore(): void {
    const { connections } = this.#options;
    this.#monitor.start();
    if (!this.#hosts.isChosen) {
      this.#whenChosen ??= this.#hosts.chosen().then(() => this.#openMore());
      return;
    }
    while (this.#sessions.size < connections && this.#opening < this.#lanes.demand) void this.#open();
  }

  async #open(): Promise<void> {
    const options = { ...this.#options, address: this.#hosts.current };
    const session: Session = new Session(options, () => this.#forget(session));
    session.endsAt = performance.now() + options.connectTimeoutMs;
    this.#sessions.add(session);
    this.#opening += 1;
    try {
      await session.setUp(options);
      this.#opening -= 1;
      this.#lookAtServers();
      // The pool may have left this server while it answered.
      session.isRetired = options.address !== this.#hosts.current;
      this.#offer(session);
    } catch (error) {
      this.#opening -= 1;
      this.#monitor.lookNow();
      // This comes before another session is opened: while the server refuses, each attempt rejects one call.
      this.#lanes.removeNext()?.reject(error);
      this.#close(session, error);
    }
  }

  /**
   * The server of this session has refused to work, because it is read-only or cut off from its cluster. Closes the session
   * and the others on that server: the same address may now lead to another one.
   * @returns false if the session stays: a new one would find the same server in the same state
   */
  #leaveServer(session: Session): boolean {
    const now = performance.now();
    this.#monitor.lookNow();
    if (!session.node.isWritable && now - this.#leftAt < minLeaveIntervalMs) {
      session.isMisplaced = false;
      return false;
    }
    this.#leftAt = now;
    this.#retire((each) => each.node.server === session.node.server, false);
    this.#close(session, leftServer());
    return true;
  }

  /** Another server is used from now on. @param isGone whether statements on the one before will not end by themselves */
  #leaveHost(before: HostAddress, isGone: boolean): void {
    this.#retire((session) => session.address === before, isGone);
    this.#openMore();
  }

  /** Closes sessions that are not in use; others when they are released, or at once if `isGone`. */
  #retire(isLeft: (session: Session) => boolean, isGone: boolean): void {
    for (const session of [...this.#sessions].filter(isLeft)) {
      if (session.state === "free" || isGone) this.#close(session, leftServer());
      else session.isRetired = true;
    }
  }

  /** Starts the timer that watches the deadlines. */
  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tick(performance.now());
      if (this.#sessions.size > this.#free.size || this.#lanes.waiting > 0) this.#watch();
    }, tickMs);
  }

  #tick(now: number): void {
    for (const session of this.#sessions) {
      const isLate = session.endsAt <= now;
      if (session.state === "leased") {
        if (!session.isBusy) continue; // Its caller checks the deadline before the next statement.
        if (session.signal?.aborted) this.#abandon(session, session.signal.reason);
        else if (isLate) this.#abandon(session, deadlineExceeded());
      } else if (isLate && session.state === "abandoned") {
        const { lane } = session;
        this.#close(session, deadlineExceeded());
        // Not every engine ends a search at once.
        if (lane === "searches") continue;
        // The free connections have been silent for even longer, and are probably dead too. Each would cost a call its time.
        for (const other of this.#free.takeAll()) this.#close(other, deadlineExceeded());
      } else if (isLate && session.state !== "free") {
        this.#close(session, deadlineExceeded());
      }
    }
    for (const waiter of this.#lanes.removeLate(now)) waiter.reject(deadlineExceeded());
  }

  /** Takes a session from its caller, whose statement fails with `reason`. The session is free once the statement has ended. */
  #abandon(session: Session, reason: unknown): void {
    const isEnding = session.signal === undefined;
    session.state = "abandoned";
    session.endsAt = performance.now() + abandonedTimeoutMs;
    const settled = session.abandon(reason);
    // A COMMIT is never interrupted. The KILL must be over before the next caller's statement, or it might end that one.
    const killed = isEnding ? undefined : this.#killer.end(session);
    void Promise.all([settled, killed])
      .then(() => session.command("ROLLBACK"))
      .then(
        () => {
          if (session.state === "abandoned") this.#offer(session);
        },
        (error) => this.#close(session, error),
      );
  }

  #sayGoodbye(session: Session): void {
    session.endsAt = performance.now() + closeTimeoutMs;
    session.end();
  }

  #close(session: Session, reason: unknown): void {
    session.destroy(reason);
    this.#forget(session);
  }

  /** Removes a closed session. */
  #forget(session: Session): void {
    if (!this.#sessions.delete(session)) return;
    this.#lanes.leave(session);
    this.#free.remove(session);
    this.#lookAtServers();
    // Another lane may have waited for the room that this session leaves.
    this.#serve();
    this.#openMore();
    this.#settleClose();
  }

  #lookAtServers(): void {
    this.#isCluster = seesCluster(this.#sessions, this.#isCluster);
  }

  #settleClose(): void {
    if (this.#closed === undefined || this.#sessions.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#closed.resolve();
  }
}

/** The error of a statement on a server that the pool has left. To the caller its connection is lost. */
function leftServer(): Error {
  return Object.assign(new Error("The connection to this server was given up."), { code: "PROTOCOL_CONNECTION_LOST" });
}
