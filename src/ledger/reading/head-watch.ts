import type { Queryable } from "../../store/database/queryable.ts";
import { type Head, readHead } from "../../store/tables/receipts.ts";
import { forEachInBatches } from "../../timing/event-loop.ts";
import { createDeferred, type Deferred } from "../../timing/wait.ts";

/** How often the head is looked at while somebody waits: another replica's receipt is seen within this, in milliseconds. */
const pollMs = 250;

interface Waiter {
  after: number;
  seen: Deferred<number>;
}

/** Tells followers when the chain has grown. The database is asked once for all of them, and only while somebody waits. */
export class HeadWatch {
  readonly #db: Queryable;
  readonly #saw: (head: Head) => void;
  readonly #waiters = new Set<Waiter>();
  #polling = false;
  /** Ends the pause before the next look; undefined while a look is under way. */
  #endPause: (() => void) | undefined;
  #lookAgain = false;

  /** @param saw told of every head that is read */
  constructor(db: Queryable, saw: (head: Head) => void = () => {}) {
    this.#db = db;
    this.#saw = saw;
  }

  /**
   * Resolves when there is a receipt after `after`, sealed by any replica, with the seq of the newest.
   * @throws the signal's reason, and what the database fails with
   */
  beyond(after: number, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const seen = createDeferred<number>({ signal, onSettled: () => this.#waiters.delete(waiter) });
    const waiter: Waiter = { after, seen };
    this.#waiters.add(waiter);
    if (!this.#polling) void this.#poll();
    return seen.promise;
  }

  /** A receipt was sealed here: its followers need not wait for the next look. */
  notify(): void {
    this.#lookAgain = true;
    this.#endPause?.();
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    while (this.#waiters.size > 0) {
      this.#lookAgain = false;
      try {
        const head = await readHead(this.#db);
        this.#saw(head);
        const { seq } = head;
        await forEachInBatches(
          [...this.#waiters].filter(({ after }) => after < seq),
          ({ seen }) => seen.resolve(seq),
        );
      } catch (error) {
        // Followers hear of it, rather than of nothing at all, and come again.
        await forEachInBatches([...this.#waiters], ({ seen }) => seen.reject(error));
      }
      if (!this.#lookAgain) await this.#pause();
    }
    this.#polling = false;
  }

  async #pause(): Promise<void> {
    const pause = createDeferred<void>({ ms: pollMs, onTimeout: ({ resolve }) => resolve() });
    this.#endPause = pause.resolve;
    await pause.promise;
    this.#endPause = undefined;
  }
}
