import type { Queryable } from "../../store/database/queryable.ts";
import { listReceipts, type ReceiptRow } from "../../store/tables/receipts.ts";

/** Lets many followers that want the same receipt at the same time share one query. */
export class NewestReceipts {
  readonly #db: Queryable;
  readonly #running = new Map<number, Promise<ReceiptRow[]>>();

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** The first receipt from this seq on; none if there is none. */
  read(seq: number): Promise<ReceiptRow[]> {
    let running = this.#running.get(seq);
    if (running === undefined) {
      running = listReceipts(this.#db, seq, 1)
        .then((rows) => rows.map(withOwnBytes))
        .finally(() => this.#running.delete(seq));
      this.#running.set(seq, running);
    }
    return running;
  }
}

/**
 * A receipt with a copy of its bytes. The driver's buffer is a part of a larger one, which would stay in memory until a slow
 * client has read.
 */
export function withOwnBytes(row: ReceiptRow): ReceiptRow {
  return { ...row, canonical: Buffer.from(row.canonical) };
}
