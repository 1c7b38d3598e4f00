import { TurnScheduler } from "./turn-scheduler.ts";
import { createDeferred, type Deferred } from "./wait.ts";

/**
 * The pause between two looks at the numbers, in milliseconds. A change by another process is found within this time.
 */
const pollMs = 250;
/** How many waiters are notified in one turn of the event loop: thousands may wait for the same number. */
const notifiedPerTurn = 32;

interface Waiter {
  after: number;
  seen: Deferred<number>;
}

/** Notifies callers that wait for numbers to grow. They share each look at the numbers. While nobody waits, nobody looks. */
export class GrowthWatch<Key> {
  readonly #read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, number>>;
  readonly #waiters = new Map<Key, Set<Waiter>>();
  /** The keys whose numbers this process has changed since the last look. */
  readonly #notified = new Set<Key>();
  readonly #turns = new TurnScheduler(notifiedPerTurn);
  /** Ends the pause before the next look; undefined while there is none. */
  #endPause: (() => void) | undefined;
  #polling = false;

  /** @param read gives the numbers of these keys. A key that it leaves out has the number 0 */
  constructor(read: (keys: readonly Key[]) => Promise<ReadonlyMap<Key, number>>) {
    this.#read = read;
  }

  /**
   * Resolves when the number of a key is greater than `after`.
   * @returns the number
   * @throws the signal's reason; the error of a look that failed
   */
  beyond(key: Key, after: number, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const waiters = this.#waiters.get(key) ?? new Set<Waiter>();
    const seen = createDeferred<number>({
      signal,
      onSettled: () => {
        waiters.delete(waiter);
        if (waiters.size === 0 && this.#waiters.get(key) === waiters) this.#waiters.delete(key);
      },
    });
    const waiter: Waiter = { after, seen };
    waiters.add(waiter);
    this.#waiters.set(key, waiters);
    if (!this.#polling) void this.#poll();
    return seen.promise;
  }

  /** This process has changed the number of a key. It is read at once, without waiting for the next look at all numbers. */
  notify(key: Key): void {
    if (!this.#waiters.has(key)) return;
    this.#notified.add(key);
    this.#endPause?.();
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    for (let dueAt = 0; this.#waiters.size > 0; ) {
      const isComplete = performance.now() >= dueAt;
      const keys = [...(isComplete ? this.#waiters.keys() : this.#notified)];
      this.#notified.clear();
      await this.#look(keys);
      if (isComplete) dueAt = performance.now() + pollMs;
      if (this.#notified.size === 0) await this.#pause(dueAt - performance.now());
    }
    this.#polling = false;
  }

  /** Resolves after `ms` milliseconds, or when `#endPause` is called. */
  async #pause(ms: number): Promise<void> {
    const pause = createDeferred<void>({ ms, onTimeout: ({ resolve }) => resolve() });
    this.#endPause = pause.resolve;
    await pause.promise;
    this.#endPause = undefined;
  }

  async #look(keys: readonly Key[]): Promise<void> {
    const [look] = await Promise.allSettled([this.#read(keys)]);
    for (const key of keys) {
      for (const { after, seen } of this.#waiters.get(key) ?? []) {
        if (look.status === "fulfilled") {
          const number = look.value.get(key) ?? 0;
          if (after < number) this.#turns.run(() => seen.resolve(number));
        } else {
          // The callers get the error, and may try again.
          this.#turns.run(() => seen.reject(look.reason));
        }
      }
    }
  }
}
