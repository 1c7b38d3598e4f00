import { TurnScheduler } from "../timing/turn-scheduler.ts";
import { createDeferred, type Deferred } from "../timing/wait.ts";

/** How long a caller waits for a read that is running, in milliseconds, before the next read begins beside it. */
const maxWaitMs = 100;
/** How many callers continue in one turn of the event loop. Each of them writes a reply. */
const callersPerTurn = 32;
/** The same for replies of which each may take milliseconds to write. */
const callersOfLargePerTurn = 2;

/** How one caller makes a read. */
interface SharedRead<T> {
  /** When it aborts, this caller waits no longer. The others are not affected. */
  signal: AbortSignal;
  /**
   * Makes the read.
   * @param many given if it is for several callers; it aborts when none of them waits any longer
   */
  make: (many?: AbortSignal) => Promise<T>;
}

/**
 * Lets identical reads share one read of the database. A caller that comes while a read is running waits for the next one.
 * So nobody gets a state that is older than their request, and nothing is cached. A caller that finds no read running makes
 * its own at once.
 */
export class SharedReads<T> {
  /** The reads that are running, by key, with the callers that wait for the next one. */
  readonly #running = new Map<string, { next: Batch<T> | undefined }>();
  readonly #isLarge: (result: T) => boolean;
  readonly #turns = new TurnScheduler(callersPerTurn);
  readonly #turnsOfLarge = new TurnScheduler(callersOfLargePerTurn);

  /** @param isLarge whether the replies that callers make of a result are large */
  constructor(isLarge: (result: T) => boolean) {
    this.#isLarge = isLarge;
  }

  /**
   * @param key the same for identical reads
   * @throws what the read fails with, the same for all who share it; the signal's reason
   */
  get(key: string, read: SharedRead<T>): Promise<T> {
    const running = this.#running.get(key);
    if (running === undefined) return this.#run(key, read.make);
    // One that has begun was empty, because its callers had left: it makes no read.
    if (running.next?.isWaiting !== true) running.next = new Batch((batch) => this.#runFor(key, batch));
    return running.next.join(read);
  }

  async #run(key: string, make: () => Promise<T>): Promise<T> {
    const running: { next: Batch<T> | undefined } = { next: undefined };
    this.#running.set(key, running);
    try {
      return await make();
    } finally {
      // The next read has taken the place if this one took longer than its callers would wait.
      if (this.#running.get(key) === running) this.#running.delete(key);
      running.next?.begin();
    }
  }

  /** Makes a read for all who wait for it. */
  #runFor(key: string, batch: Batch<T>): void {
    this.#run(key, () => batch.make()).then(
      (result) =>
        batch.settle(this.#isLarge(result) ? this.#turnsOfLarge : this.#turns, ({ resolve }) => resolve(result)),
      (error) => batch.settle(this.#turns, ({ reject }) => reject(error)),
    );
  }
}

/** A caller that waits for the next read. */
type Waiter<T> = Deferred<T> & { read: SharedRead<T> };

/** The callers that wait for one read. It begins once. */
class Batch<T> {
  readonly #run: (batch: Batch<T>) => void;
  readonly #waiters = new Set<Waiter<T>>();
  readonly #timer: NodeJS.Timeout;
  #state: "waiting" | "reading" | "over" = "waiting";
  /** Ends the read when nobody waits for it any longer. */
  readonly #controller = new AbortController();

  constructor(run: (batch: Batch<T>) => void) {
    this.#run = run;
    this.#timer = setTimeout(() => this.begin(), maxWaitMs);
  }

  /** Whether its read is still to begin. */
  get isWaiting(): boolean {
    return this.#state === "waiting";
  }

  join(read: SharedRead<T>): Promise<T> {
    const { signal } = read;
    if (signal.aborted) return Promise.reject(signal.reason);
    const deferred = createDeferred<T>({ signal, onSettled: () => this.#leave(waiter) });
    const waiter = Object.assign(deferred, { read });
    this.#waiters.add(waiter);
    return waiter.promise;
  }

  begin(): void {
    clearTimeout(this.#timer);
    if (this.#state !== "waiting") return;
    this.#state = "reading";
    if (this.#waiters.size > 0) this.#run(this);
  }

  make(): Promise<T> {
    const [first, second] = this.#waiters;
    const { read } = first as Waiter<T>;
    return second === undefined ? read.make() : read.make(this.#controller.signal);
  }

  /** Lets the callers continue in turns, so that the callers of other reads need not wait for all of these. */
  settle(turns: TurnScheduler, settle: (waiter: Waiter<T>) => void): void {
    this.#state = "over";
    const settleNext = () => {
      const [waiter] = this.#waiters;
      if (waiter === undefined) return;
      settle(waiter);
      if (this.#waiters.size > 0) turns.run(settleNext);
    };
    turns.run(settleNext);
  }

  /** Removes a caller that waits no longer, or that has its result. */
  #leave(waiter: Waiter<T>): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0 && this.#state === "reading") this.#controller.abort(waiter.read.signal.reason);
  }
}
