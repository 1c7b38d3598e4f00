import { StoaError } from "../../errors.ts";
import { createDeferred } from "../../timing/wait.ts";

/** Lets a few run at a time; the others wait for their turn, first come first served. */
export class Turns {
  readonly #limit: number;
  /** What lets each of those that wait go on; insertion order. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  constructor(limit: number) {
    this.#limit = limit;
  }

  /**
   * Runs `work` when it has its turn.
   * @param endsAt when it waits no longer, by `performance.now()`
   * @throws StoaError `unavailable` when the turn does not come in time; the signal's reason; what `work` throws
   */
  async run<T>(signal: AbortSignal, endsAt: number, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limit) this.#running += 1;
    else await this.#turn(signal, endsAt);
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      // The turn is handed on: nobody who comes just now is before those who wait.
      if (next !== undefined) next();
      else this.#running -= 1;
    }
  }

  #turn(signal: AbortSignal, endsAt: number): Promise<void> {
    signal.throwIfAborted();
    const turn = createDeferred<void>({
      signal,
      ms: endsAt - performance.now(),
      onTimeout: ({ reject }) => reject(tooMany()),
      onSettled: () => this.#waiting.delete(turn.resolve),
    });
    this.#waiting.add(turn.resolve);
    return turn.promise;
  }
}

function tooMany(): StoaError {
  return new StoaError("unavailable", "Too many costly reads are running.", { retryAfterSeconds: 1 });
}
