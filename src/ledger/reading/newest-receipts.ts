import type { Queryable } from "../../store/database/queryable.ts";
import { listReceipts, type ReceiptRow } from "../../store/tables/receipts.ts";

/** Reads a receipt that many followers want at the same time once for all of them. Receipts never change. */
export class NewestReceipts {
  readonly #db: Queryable;
  readonly #running = new Map<number, Promise<ReceiptRow[]>>();

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** The receipt of this seq alone, or nothing. */
  read(seq: number): Promise<ReceiptRow[]> {
    let running = this.#running.get(seq);
    if (running === undefined) {
      running = listReceipts(this.#db, seq, 1).finally(() => this.#running.delete(seq));
      this.#running.set(seq, running);
    }
    return running;
  }
}
