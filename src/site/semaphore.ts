import { StoaError } from "../errors.ts";
import { createDeferred } from "../timing/wait.ts";

/**
 * A bounded number of places for work that holds much memory. Whoever finds none waits in line; a caller that goes away
 * leaves the line, and nobody joins a line that is too long.
 */
export class Semaphore {
  #free: number;
  readonly #maxWaiting: number;
  /** In the order in which they came. */
  readonly #waiting = new Set<() => void>();

  constructor(places: number, maxWaiting: number) {
    this.#free = places;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Does `work` once there is a place for it.
   * @throws StoaError `unavailable` where too many wait; the signal's reason
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

  /** Resolves when the caller has taken over the place of another. */
  #wait(signal: AbortSignal): Promise<void> {
    if (this.#waiting.size >= this.#maxWaiting) {
      throw new StoaError("unavailable", "Too many readers want a page at this moment.", { retryAfterSeconds: 1 });
    }
    signal.throwIfAborted();
    const place = createDeferred<void>({ signal, onSettled: () => this.#waiting.delete(place.resolve) });
    this.#waiting.add(place.resolve);
    return place.promise;
  }
}
