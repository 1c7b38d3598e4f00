import { StoaError } from "../../errors.ts";
import { Lanes } from "./lanes.ts";
import { type LaneName, Session, type SessionOptions } from "./session.ts";
import { StatementKiller } from "./statement-killer.ts";
import type { Waiter } from "./wait-queue.ts";

export interface PoolOptions extends SessionOptions {
  /** The most connections that are open at once. */
  connections: number;
  /** How long connecting may take, in milliseconds. */
  connectMs: number;
}

/** Calls of a lane that wait for a connection; more are refused, so that a slow database does not fill the memory. */
const queueLimit = 5_000;
/**
 * How often deadlines and given-up calls are looked for while something runs, in milliseconds. One timer does this for all
 * calls: a timer and a listener for each statement would cost more than the statement's bookkeeping.
 */
const tickMs = 100;
/** How long a session whose caller was told may take to come back before it is closed, in milliseconds. */
const graceMs = 2_000;
/** How long running statements and goodbyes may take when the pool closes, in milliseconds. */
const closeMs = 2_000;

/**
 * The connections of a process. Each lease has a deadline. A session whose statement is late, or whose caller has given up,
 * is taken from its caller at once; its statement is ended in the server, and if that does not bring it back soon, the
 * connection is closed and another one takes its place.
 */
export class Pool {
  readonly #options: PoolOptions;
  /** Every session that is not closed. */
  readonly #sessions = new Set<Session>();
  readonly #free: Session[] = [];
  readonly #lanes: Lanes;
  readonly #killer: StatementKiller;
  #opening = 0;
  #timer: NodeJS.Timeout | undefined;
  /** Resolves `close` when the last session is gone; undefined while the pool is open. */
  #closed: PromiseWithResolvers<void> | undefined;

  constructor(options: PoolOptions) {
    this.#options = options;
    this.#lanes = new Lanes(options.connections);
    this.#killer = new StatementKiller(options);
  }

  /** How many connections work for a call, and how many calls wait for one. */
  get load(): { inUse: number; waiting: number } {
    return { inUse: this.#sessions.size - this.#free.length - this.#opening, waiting: this.#lanes.waiting };
  }

  /**
   * Gives a session to a caller, who hands it to `release` in the end.
   * @param lane what it is for
   * @param endsAt when the caller's time is over, by `performance.now()`
   * @throws StoaError `unavailable`; the signal's reason; what connecting fails with
   */
  lease(lane: LaneName, signal: AbortSignal, endsAt: number): Session | Promise<Session> {
    // Whoever waits in this lane waits for lack of sessions or of room: nobody is overtaken.
    const session = this.#lanes.hasRoom(lane) ? this.#free.pop() : undefined;
    if (session !== undefined) {
      this.#watch();
      return this.#give(session, { lane, signal, endsAt });
    }
    if (this.#closed !== undefined) throw unavailable("The service is stopping.");
    if (this.#lanes.waitingIn(lane) >= queueLimit) throw unavailable("Too many calls wait for the database.");
    const promise = this.#lanes.wait(lane, signal, endsAt);
    this.#openMore();
    this.#watch();
    return promise;
  }

  /** Takes a session back. `isUsable` is false where it is not known to be outside a transaction. */
  release(session: Session, isUsable = true): void {
    // An abandoned session is the pool's already, and a lost one is nobody's.
    if (session.state !== "leased") return;
    if (isUsable) this.#offer(session);
    else this.#close(session, unavailable("The connection was given up."));
  }

  /** Refuses those who wait, lets running statements end for a moment, and closes every connection. */
  async close(): Promise<void> {
    if (this.#closed === undefined) {
      this.#closed = Promise.withResolvers<void>();
      const error = unavailable("The service is stopping.");
      for (const waiter of this.#lanes.removeLate(Number.POSITIVE_INFINITY)) waiter.reject(error);
      const endsAt = performance.now() + closeMs;
      for (const session of this.#sessions) session.endsAt = Math.min(session.endsAt, endsAt);
      for (const session of this.#free.splice(0)) this.#sayGoodbye(session);
      this.#settleClose();
      this.#watch();
    }
    await this.#closed.promise;
  }

  /** A session is free for whoever waits. */
  #offer(session: Session): void {
    this.#lanes.leave(session);
    session.state = "free";
    session.signal = undefined;
    this.#free.push(session);
    this.#serve();
    if (this.#closed !== undefined) for (const idle of this.#free.splice(0)) this.#sayGoodbye(idle);
  }

  /** Gives free sessions to those who wait. */
  #serve(): void {
    while (this.#free.length > 0) {
      const waiter = this.#lanes.removeNext();
      if (waiter === undefined) return;
      waiter.resolve(this.#give(this.#free.pop() as Session, waiter));
    }
  }

  #give(session: Session, { lane, signal, endsAt }: Pick<Waiter, "lane" | "signal" | "endsAt">): Session {
    this.#lanes.take(session, lane);
    session.state = "leased";
    session.signal = signal;
    session.endsAt = endsAt;
    return session;
  }

  /** Opens as many sessions as are waited for and allowed. */
  #openMore(): void {
    const { connections } = this.#options;
    while (this.#sessions.size < connections && this.#opening < this.#lanes.demand) void this.#open();
  }

  async #open(): Promise<void> {
    const session: Session = new Session(this.#options, () => this.#forget(session));
    session.endsAt = performance.now() + this.#options.connectMs;
    this.#sessions.add(session);
    this.#opening += 1;
    try {
      await session.setUp(this.#options);
      this.#opening -= 1;
      this.#offer(session);
    } catch (error) {
      this.#opening -= 1;
      // Before another is opened: while the server refuses, each attempt answers one call.
      this.#lanes.removeNext()?.reject(error);
      this.#close(session, error);
    }
  }

  /** Starts the timer that watches all that takes time. */
  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#tick(performance.now());
      if (this.#sessions.size > this.#free.length || this.#lanes.waiting > 0) this.#watch();
    }, tickMs);
  }

  #tick(now: number): void {
    for (const session of this.#sessions) {
      const isLate = session.endsAt <= now;
      if (session.state === "leased") {
        if (!session.isBusy) continue; // Its caller looks at the time before the next statement.
        if (session.signal?.aborted) this.#abandon(session, session.signal.reason);
        else if (isLate) this.#abandon(session, tooLate());
      } else if (isLate && session.state === "abandoned") {
        this.#close(session, tooLate());
        // The others have been silent for longer; calls would find that out one by one, each after its whole time.
        for (const other of this.#free.splice(0)) this.#close(other, tooLate());
      } else if (isLate && session.state !== "free") {
        this.#close(session, tooLate());
      }
    }
    for (const waiter of this.#lanes.removeLate(now)) waiter.reject(tooLate());
  }

  /** Takes a session from its caller, who gets `reason`, and frees it once its statement has ended. */
  #abandon(session: Session, reason: unknown): void {
    const isEnding = session.signal === undefined;
    session.state = "abandoned";
    session.endsAt = performance.now() + graceMs;
    const settled = session.abandon(reason);
    // A COMMIT is never interrupted. A late KILL must not meet the next caller's statement, so it is waited for.
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
    session.endsAt = performance.now() + closeMs;
    session.end();
  }

  #close(session: Session, reason: unknown): void {
    session.destroy(reason);
    this.#forget(session);
  }

  /** A session is closed. */
  #forget(session: Session): void {
    if (!this.#sessions.delete(session)) return;
    this.#lanes.leave(session);
    const index = this.#free.indexOf(session);
    if (index >= 0) this.#free.splice(index, 1);
    // What it was used for leaves room, which another lane may have waited for.
    this.#serve();
    this.#openMore();
    this.#settleClose();
  }

  #settleClose(): void {
    if (this.#closed === undefined || this.#sessions.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#closed.resolve();
  }
}

/** What a call gets whose time is over. */
export function tooLate(): StoaError {
  return unavailable("The database did not answer in time.");
}

function unavailable(message: string): StoaError {
  return new StoaError("unavailable", message, { retryAfterSeconds: 1 });
}
