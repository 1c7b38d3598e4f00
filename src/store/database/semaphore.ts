import { StoaError } from "../../errors.ts";
import { createDeferred } from "../../timing/wait.ts";

/** A counting semaphore: it limits how many tasks run at a time. The others wait, first come, first served. */
export class Semaphore {
  readonly #limit: number;
  readonly #busyMessage: string;
  /** Each function lets one waiting task run; in the order of arrival. */
  readonly #waiting = new Set<() => void>();
  #running = 0;

  /** @param busyMessage the error of a task that waits too long */
  constructor(limit: number, busyMessage: string) {
    this.#limit = limit;
    this.#busyMessage = busyMessage;
  }

  /**
   * Runs `work` as soon as fewer than `limit` tasks run.
   * @param endsAt when it stops waiting, by `performance.now()`
   * @throws StoaError `unavailable` when it waited until `endsAt`; the signal's reason; what `work` throws
   */
  async run<T>(signal: AbortSignal, endsAt: number, work: () => Promise<T>): Promise<T> {
    if (this.#running < this.#limit) this.#running += 1;
    else await this.#wait(signal, endsAt);
    try {
      return await work();
    } finally {
      const [next] = this.#waiting;
      // The next task takes this one's place at once, so that no newcomer overtakes it.
      if (next !== undefined) next();
      else this.#running -= 1;
    }
  }

  #wait(signal: AbortSignal, endsAt: number): Promise<void> {
    signal.throwIfAborted();
    const turn = createDeferred<void>({
      signal,
      ms: endsAt - performance.now(),
      onTimeout: ({ reject }) => reject(this.#busy()),
      onSettled: () => this.#waiting.delete(turn.resolve),
    });
    this.#waiting.add(turn.resolve);
    return turn.promise;
  }

  #busy(): StoaError {
    return new StoaError("unavailable", this.#busyMessage, { retryAfterSeconds: 1 });
  }
}
