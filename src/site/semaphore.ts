import { StoaError } from "../errors.ts";
import { createDeferred } from "../timing/wait.ts";

/**
 * Limits how many tasks that need much memory run at the same time. Further tasks wait in a queue of limited length. A task
 * whose signal aborts leaves the queue.
 */
export class Semaphore {
  #free: number;
  readonly #maxWaiting: number;
  /** The waiting tasks, in the order of their arrival. */
  readonly #waiting = new Set<() => void>();

  constructor(maxRunning: number, maxWaiting: number) {
    this.#free = maxRunning;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Runs `work` as soon as there is room.
   * @throws StoaError `unavailable` when the queue is full; the signal's reason when it aborts while waiting
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free--;
    else await this.#wait(signal);
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      if (next === undefined) this.#free++;
      else next();
    }
  }

  /** Resolves when a finished task has handed its place to the caller. */
  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.#maxWaiting) {
      throw new StoaError("unavailable", "Too many readers are requesting pages at the moment.", {
        retryAfterSeconds: 1,
      });
    }
    signal.throwIfAborted();
    const place = createDeferred<void>({ signal, onSettled: () => this.#waiting.delete(place.resolve) });
    this.#waiting.add(place.resolve);
    return place.promise;
  }
}
