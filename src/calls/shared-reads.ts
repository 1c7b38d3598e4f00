import { TurnScheduler } from "../timing/turn-scheduler.ts";
import { type Cancellation, createDeferred, type Deferred } from "../timing/wait.ts";

/** A read that hangs holds up others for this long at most, in milliseconds. Then the next one begins beside it. */
const maxWaitMs = 100;
/** From so many callers on, a read waits for those who have got the result of the one before, and may ask again at once. */
const minGathered = 8;
/** It begins when this share of the callers has come. */
const gatheredShare = 0.95;
/** It waits for this long at most, in milliseconds. */
const maxGatherMs = 1;
/** How many callers continue in one turn of the event loop. Each of them writes a reply. */
const callersPerTurn = 32;
/** The same for replies of which each may take milliseconds to write. */
const callersOfLargePerTurn = 2;

/** How one caller makes a read. */
export interface SharedRead<T> {
  /** When it aborts, this caller waits no longer. The others are not affected. */
  signal: Cancellation;
  /** Makes the read for this caller alone. */
  alone: () => Promise<T>;
  /** Makes the read for several callers. The signal aborts when none of them waits any longer. */
  together: (signal: AbortSignal) => Promise<T>;
}

/** A caller that waits for the next read. */
interface Waiter<T> extends Deferred<T> {
  read: SharedRead<T>;
}

/** Says when callers continue. */
interface Turns<T> {
  small: TurnScheduler;
  of(result: T): TurnScheduler;
}

/**
 * Lets identical reads share one read of the database. A caller that comes while a read is running waits for the next one.
 * So nobody gets a state that is older than their request, and nothing is cached. A caller that finds no read running makes
 * its own at once. Only where many callers read, the next read waits a moment for more of them.
 */
export class SharedReads<T> {
  /** For each key that is being read, or was a moment ago: the callers that wait for the next read. */
  readonly #running = new Map<string, Batch<T>>();
  readonly #turns: Turns<T>;

  /** @param isLarge whether the replies that callers make of a result are large; by default they are not */
  constructor(isLarge: (result: T) => boolean = () => false) {
    const small = new TurnScheduler(callersPerTurn);
    const large = new TurnScheduler(callersOfLargePerTurn);
    this.#turns = { small, of: (result) => (isLarge(result) ? large : small) };
  }

  /**
   * @param key the same for identical reads
   * @throws what the read fails with, the same for all who share it; the signal's reason
   */
  get(key: string, read: SharedRead<T>): Promise<T> {
    const next = this.#running.get(key);
    return next === undefined ? this.#run(key, read.alone, 1) : next.join(read);
  }

  /** How many different reads run now, or have ended a moment ago; for tests. */
  get size(): number {
    return this.#running.size;
  }

  async #run(key: string, make: () => Promise<T>, callers: number): Promise<T> {
    const next = new Batch<T>((work, waiting) => this.#run(key, work, waiting), this.#turns);
    this.#running.set(key, next);
    try {
      return await make();
    } finally {
      next.gather(callers, () => {
        // A later read has taken the place if this one took longer than the others would wait.
        if (this.#running.get(key) === next) this.#running.delete(key);
        next.begin();
      });
    }
  }
}

/** The callers that wait for one read. It begins once. */
class Batch<T> {
  readonly #run: (work: () => Promise<T>, callers: number) => Promise<T>;
  readonly #turns: Turns<T>;
  readonly #waiters = new Set<Waiter<T>>();
  #timer: NodeJS.Timeout | undefined;
  #hasBegun = false;
  /** While it waits for the callers of the read before it: how many callers it waits for, and what begins it. */
  #gathering: { callers: number; begin: () => void } | undefined;
  /** Ends the read when nobody waits for it any longer. */
  #controller: AbortController | undefined;

  constructor(run: (work: () => Promise<T>, callers: number) => Promise<T>, turns: Turns<T>) {
    this.#run = run;
    this.#turns = turns;
  }

  join(read: SharedRead<T>): Promise<T> {
    const { signal } = read;
    if (signal.aborted) return Promise.reject(signal.reason);
    const deferred = createDeferred<T>({ signal, onSettled: () => this.#leave(waiter) });
    const waiter = Object.assign(deferred, { read });
    this.#waiters.add(waiter);
    if (this.#gathering !== undefined && this.#waiters.size >= this.#gathering.callers) this.#gathering.begin();
    else this.#timer ??= setTimeout(() => this.begin(), maxWaitMs);
    return waiter.promise;
  }

  /**
   * To be called when the read before has ended. Calls `begin`, now or a moment later. Otherwise callers that ask again and
   * again would be in two groups for ever, of which one asks while the read of the other runs, and need twice as many reads.
   * @param served how many callers the read before had
   */
  gather(served: number, begin: () => void): void {
    const callers = served + this.#waiters.size;
    if (this.#hasBegun || callers < minGathered || this.#waiters.size >= callers * gatheredShare) {
      begin();
      return;
    }
    this.#gathering = { callers: callers * gatheredShare, begin };
    clearTimeout(this.#timer);
    this.#timer = setTimeout(begin, maxGatherMs);
  }

  begin(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#gathering = undefined;
    const [first, second] = this.#waiters;
    if (first === undefined || this.#hasBegun) return;
    this.#hasBegun = true;
    if (second === undefined) {
      this.#run(first.read.alone, 1).then(first.resolve, first.reject);
      return;
    }
    const controller = new AbortController();
    this.#controller = controller;
    this.#run(() => first.read.together(controller.signal), this.#waiters.size).then(
      (result) => this.#settle(this.#turns.of(result), (waiter) => waiter.resolve(result)),
      (error) => this.#settle(this.#turns.small, (waiter) => waiter.reject(error)),
    );
  }

  #leave(waiter: Waiter<T>): void {
    this.#waiters.delete(waiter);
    if (this.#waiters.size === 0) this.#controller?.abort(waiter.read.signal.reason);
  }

  #settle(turns: TurnScheduler, settle: (waiter: Waiter<T>) => void): void {
    this.#controller = undefined;
    // One at a time, so that the callers of other reads need not wait for all of these. Who is settled leaves.
    const settleNext = () => {
      const [waiter] = this.#waiters;
      if (waiter === undefined) return;
      settle(waiter);
      if (this.#waiters.size > 0) turns.run(settleNext);
    };
    turns.run(settleNext);
  }
}
