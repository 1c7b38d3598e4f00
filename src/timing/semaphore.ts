import { StoaError } from "../errors.ts";
import { FairQueue } from "./fair-queue.ts";
import { parties } from "./parties.ts";
import { createDeferred, type Deferred } from "./wait.ts";

export interface SemaphoreOptions {
  /** How many tasks run at a time. */
  limit: number;
  /** How many may wait; by default any number. Where no more may, one of the `parties` that has the most gives a place away. */
  maxWaiting?: number;
  /** The error of a task that may not wait, or has waited too long. */
  busyMessage: string;
}

/** A counting semaphore: it limits how many tasks run at a time. The others wait, and the `parties` of their signals take turns. */
export class Semaphore {
  readonly #limit: number;
  readonly #maxWaiting: number;
  readonly #busyMessage: string;
  /** Each lets one waiting task run. */
  readonly #waiting = new FairQueue<Deferred<void>>();
  #running = 0;

  constructor({ limit, maxWaiting = Number.POSITIVE_INFINITY, busyMessage }: SemaphoreOptions) {
    this.#limit = limit;
    this.#maxWaiting = maxWaiting;
    this.#busyMessage = busyMessage;
  }

  /**
   * Runs `work` as soon as fewer than `limit` tasks run.
   * @param endsAt when it stops waiting, by `performance.now()`; by default it does not
   * @throws StoaError `unavailable` when too many wait, also of others if most are of its party, or when it has waited until
   * `endsAt`; the signal's reason when it aborts while waiting; what `work` throws
   */
  async run<T>(signal: AbortSignal, work: () => Promise<T>, endsAt?: number): Promise<T> {
    if (this.#running < this.#limit) this.#running += 1;
    else await this.#wait(signal, endsAt);
    try {
      return await work();
    } finally {
      const next = this.#waiting.take();
      // The next task takes this one's place at once, so that no newcomer overtakes it.
      if (next !== undefined) next.resolve();
      else this.#running -= 1;
    }
  }

  #wait(signal: AbortSignal, endsAt: number | undefined): Promise<void> {
    signal.throwIfAborted();
    const party = parties.get(signal) ?? signal;
    if (this.#waiting.size >= this.#maxWaiting) {
      const last = this.#waiting.takeFromLargest(this.#waiting.sizeOf(party) + 1);
      if (last === undefined) throw this.#busy();
      last.reject(this.#busy());
    }
    const turn = createDeferred<void>({
      signal,
      ...(endsAt === undefined
        ? {}
        : { ms: endsAt - performance.now(), onTimeout: ({ reject }) => reject(this.#busy()) }),
      onSettled: () => this.#waiting.delete(party, turn),
    });
    this.#waiting.add(party, turn);
    return turn.promise;
  }

  #busy(): StoaError {
    return new StoaError("unavailable", this.#busyMessage, { retryAfterSeconds: 1 });
  }
}
