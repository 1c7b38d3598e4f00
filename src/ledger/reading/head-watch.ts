import type { Queryable } from "../../store/database/queryable.ts";
import { type Head, readHead } from "../../store/tables/receipts.ts";
import { forEachInBatches } from "../../timing/event-loop.ts";
import { Pause } from "../../timing/pause.ts";
import { createDeferred, type Deferred } from "../../timing/wait.ts";

/**
 * How often the head is read while followers wait, in milliseconds. Another replica's receipt is found within this
 * time.
 */
const pollMs = 250;

interface Waiter {
  after: number;
  seen: Deferred<number>;
}

/**
 * Notifies followers when the chain has grown. They share one query, which runs only while at least one of them waits.
 */
export class HeadWatch {
  readonly #db: Queryable;
  readonly #onHead: (head: Head) => void;
  readonly #waiters = new Set<Waiter>();
  #polling = false;
  /** The pause before the next query. */
  readonly #pause = new Pause();
  #pollAgain = false;

  /** @param onHead called with every head that is read */
  constructor(db: Queryable, onHead: (head: Head) => void = () => {}) {
    this.#db = db;
    this.#onHead = onHead;
  }

  /**
   * Resolves when any replica has sealed a receipt after `after`.
   * @returns the seq of the newest receipt
   * @throws the signal's reason; the error of a query that failed
   */
  beyond(after: number, signal: AbortSignal): Promise<number> {
    signal.throwIfAborted();
    const seen = createDeferred<number>({ signal, onSettled: () => this.#waiters.delete(waiter) });
    const waiter: Waiter = { after, seen };
    this.#waiters.add(waiter);
    if (!this.#polling) void this.#poll();
    return seen.promise;
  }

  /** This process has sealed a receipt. Followers need not wait for the next query. */
  notify(): void {
    this.#pollAgain = true;
    this.#pause.end();
  }

  async #poll(): Promise<void> {
    this.#polling = true;
    while (this.#waiters.size > 0) {
      this.#pollAgain = false;
      try {
        const head = await readHead(this.#db);
        this.#onHead(head);
        const { seq } = head;
        await forEachInBatches(
          [...this.#waiters].filter(({ after }) => after < seq),
          ({ seen }) => seen.resolve(seq),
        );
      } catch (error) {
        // Followers get the error instead of waiting, and may try again.
        await forEachInBatches([...this.#waiters], ({ seen }) => seen.reject(error));
      }
      if (!this.#pollAgain) await this.#pause.wait(pollMs);
    }
    this.#polling = false;
  }
}
