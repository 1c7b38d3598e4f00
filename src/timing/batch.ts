import { StoaError } from "../errors.ts";

/** How many callers may wait; more are refused, so that a database that hangs does not fill the memory. */
const maxWaiting = 10_000;
/** How often a batch looks for callers that have given up or have no time left, in milliseconds. */
const tickMs = 100;

/** How long a caller waits. */
interface Patience {
  /** When it aborts, the caller has given up. */
  signal: AbortSignal;
  /** When the caller's time is over, by `performance.now()`. */
  endsAt: number;
}

interface Caller<Value> extends PromiseWithResolvers<Value | undefined>, Patience {}

/**
 * Looks up many keys at once. At most `concurrency` look-ups run at a time. A key that is asked for meanwhile waits, and shares
 * the next look-up with up to `size` - 1 others. A caller that gives up, or whose time is over, fails alone and within 100 ms.
 */
export class Batch<Key, Value> {
  readonly #find: (keys: Key[]) => Promise<ReadonlyMap<Key, Value>>;
  readonly #size: number;
  readonly #concurrency: number;
  /** The keys of each look-up that runs, with their callers. */
  readonly #running = new Set<Map<Key, Caller<Value>[]>>();
  /** The keys that wait for a look-up, in the order of their arrival. */
  readonly #waiting = new Map<Key, Caller<Value>[]>();
  #callers = 0;
  #timer: NodeJS.Timeout | undefined;

  /** @param find gives the values that there are, by their keys; it gets at most `size` different keys */
  constructor(find: (keys: Key[]) => Promise<ReadonlyMap<Key, Value>>, limits: { size: number; concurrency: number }) {
    this.#find = find;
    this.#size = limits.size;
    this.#concurrency = limits.concurrency;
  }

  /**
   * @returns the value of a key; undefined if there is none
   * @throws what the look-up throws; the signal's reason; StoaError `unavailable` if too many wait, or the caller's time is
   * over
   */
  async find(key: Key, { signal, endsAt }: Patience): Promise<Value | undefined> {
    signal.throwIfAborted();
    if (this.#callers >= maxWaiting) throw slow();
    const caller = { ...Promise.withResolvers<Value | undefined>(), signal, endsAt };
    const callers = this.#waiting.get(key);
    if (callers !== undefined) callers.push(caller);
    else this.#waiting.set(key, [caller]);
    this.#callers += 1;
    if (this.#running.size < this.#concurrency) void this.#run();
    this.#watch();
    return caller.promise;
  }

  /** Looks up keys until none waits. */
  async #run(): Promise<void> {
    while (this.#waiting.size > 0) {
      const batch = new Map(this.#waiting.entries().take(this.#size));
      for (const key of batch.keys()) this.#waiting.delete(key);
      this.#running.add(batch);
      try {
        const values = await this.#find([...batch.keys()]);
        for (const [key, callers] of batch) for (const caller of callers) caller.resolve(values.get(key));
      } catch (error) {
        for (const callers of batch.values()) for (const caller of callers) caller.reject(error);
      }
      this.#running.delete(batch);
      for (const callers of batch.values()) this.#callers -= callers.length;
    }
  }

  /** Starts the timer for callers that give up. One timer serves all: a timer and a listener for each would cost more. */
  #watch(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      if (this.#callers === 0) return;
      const now = performance.now();
      for (const keys of [...this.#running, this.#waiting]) this.#dismiss(keys, now);
      if (this.#callers > 0) this.#watch();
    }, tickMs);
  }

  /** Fails the callers that have given up or have no time left. A waiting key without callers is dropped. */
  #dismiss(keys: Map<Key, Caller<Value>[]>, now: number): void {
    for (const [key, callers] of keys) {
      const patient = callers.filter(({ signal, endsAt }) => !signal.aborted && now < endsAt);
      if (patient.length === callers.length) continue;
      for (const { signal, endsAt, reject } of callers) {
        if (signal.aborted) reject(signal.reason);
        else if (endsAt <= now) reject(slow());
      }
      this.#callers -= callers.length - patient.length;
      if (patient.length === 0 && keys === this.#waiting) keys.delete(key);
      else keys.set(key, patient);
    }
  }
}

function slow(): StoaError {
  return new StoaError("unavailable", "The database is slow just now.", { retryAfterSeconds: 1 });
}
