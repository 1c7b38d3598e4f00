import type { Queryable } from "../../store/database/queryable.ts";
import { type Head, readHead } from "../../store/tables/receipts.ts";
import { GrowthWatch } from "../../timing/growth-watch.ts";

/** There is one chain. */
const chain = "chain";

/**
 * Notifies followers when the chain has grown. They share one query, which runs only while at least one of them waits.
 */
export class HeadWatch {
  readonly #watch: GrowthWatch<typeof chain>;

  /** @param onHead called with every head that is read */
  constructor(db: Queryable, onHead: (head: Head) => void = () => {}) {
    this.#watch = new GrowthWatch(async () => {
      const head = await readHead(db);
      onHead(head);
      return new Map([[chain, head.seq]]);
    });
  }

  /**
   * Resolves when any replica has sealed a receipt after `after`.
   * @returns the seq of the newest receipt
   * @throws the signal's reason; the error of a query that failed
   */
  beyond(after: number, signal: AbortSignal): Promise<number> {
    return this.#watch.beyond(chain, after, signal);
  }

  /** This process has sealed a receipt. Followers need not wait for the next query. */
  notify(): void {
    this.#watch.notify(chain);
  }
}
