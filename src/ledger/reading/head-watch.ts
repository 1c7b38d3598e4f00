import { setImmediate as nextTurn } from "node:timers/promises";
import type { Queryable } from "../../store/database/database.ts";
import { type Head, readHead } from "../../store/tables/receipts.ts";

/** How often the head is looked at while somebody waits: another replica's receipt is seen within this, in milliseconds. */
const pollMs = 250;

interface Waiter {
  after: number;
  resolve(seq: number): void;
  reject(reason: unknown): void;
}

/** How many followers are told at a time: what each then does would hold up the event loop for all the others. */
const batch = 32;

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
    const { promise, resolve, reject } = Promise.withResolvers<number>();
    const abort = () => reject(signal.reason);
    const waiter = { after, resolve, reject };
    signal.addEventListener("abort", abort, { once: true });
    this.#waiters.add(waiter);
    if (!this.#polling) void this.#poll();
    return promise.finally(() => {
      signal.removeEventListener("abort", abort);
      this.#waiters.delete(waiter);
    });
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
        await inBatches(
          [...this.#waiters].filter(({ after }) => after < seq),
          (waiter) => waiter.resolve(seq),
        );
      } catch (error) {
        // Followers hear of it, rather than of nothing at all, and come again.
        await inBatches([...this.#waiters], (waiter) => waiter.reject(error));
      }
      if (!this.#lookAgain) await this.#pause();
    }
    this.#polling = false;
  }

  async #pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, pollMs);
      this.#endPause = () => {
        clearTimeout(timer);
        resolve();
      };
    });
    this.#endPause = undefined;
  }
}

async function inBatches(waiters: readonly Waiter[], tell: (waiter: Waiter) => void): Promise<void> {
  for (const [index, waiter] of waiters.entries()) {
    if (index > 0 && index % batch === 0) await nextTurn();
    tell(waiter);
  }
}
