import type { Queryable } from "../store/database/queryable.ts";
import { findOldestInOutbox } from "../store/tables/log-outbox.ts";

/** For how long the oldest entry of the outbox has waited, as far as this process has seen. */
export class OutboxAge {
  #oldest: number | undefined;
  /** When this process first saw it, by `performance.now()`. */
  #since = 0;

  async look(db: Queryable): Promise<void> {
    const oldest = await findOldestInOutbox(db);
    if (oldest !== this.#oldest) this.#since = performance.now();
    this.#oldest = oldest;
  }

  /** In seconds; 0 if the outbox is empty. */
  get seconds(): number {
    return this.#oldest === undefined ? 0 : (performance.now() - this.#since) / 1000;
  }
}
