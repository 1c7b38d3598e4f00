// Reads for the check of the record of moderation.
import type { Queryable } from "../database/queryable.ts";

/** The head of the record as it is stored, and the highest id in the same snapshot; undefined if the head is missing. */
export async function readModerationHead(
  db: Queryable,
): Promise<{ newest: number; sealed: number; highest: number } | undefined> {
  const [row] = await db.rows<{ newest: number; sealed: number; highest: number | null }>(
    "SELECT newest, sealed, (SELECT MAX(id) FROM moderations) AS highest FROM moderation_head WHERE id = 1",
  );
  return row && { ...row, highest: row.highest ?? 0 };
}

/** The daily receipts after receipt `after`, in order. */
export function listDailies(
  db: Queryable,
  after: number,
  limit: number,
): Promise<{ seq: number; canonical: Buffer }[]> {
  return db.rows(
    `SELECT r.seq, r.canonical FROM (SELECT seq FROM ledger_days WHERE seq > ? ORDER BY seq LIMIT ?) d
     JOIN receipts r ON r.seq = d.seq ORDER BY r.seq`,
    [after, String(limit)],
  );
}
