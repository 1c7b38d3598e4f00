import type { Queryable, Tx } from "../database/queryable.ts";
import type { ReceiptRow } from "./receipts.ts";

/** Records that receipt `seq` is a recovery. */
export async function insertRecovery(tx: Tx, seq: number): Promise<void> {
  await tx.run("INSERT INTO ledger_recoveries (seq) VALUES (?)", [seq]);
}

/** The receipts up to `seq` that are noted as recoveries, in the order of the chain. They are few: an operator makes each. */
export function listRecoveryRows(db: Queryable, seq: number): Promise<ReceiptRow[]> {
  return db.rows<ReceiptRow>(
    `SELECT r.seq, r.hash, r.prev_hash, r.canonical
     FROM ledger_recoveries l JOIN receipts r ON r.seq = l.seq WHERE l.seq <= ? ORDER BY l.seq`,
    [seq],
  );
}
