import type { Queryable, Tx } from "../database/queryable.ts";
import { inPowersOfTwo } from "./id-lists.ts";
import type { NewLogEntry } from "./log-entries.ts";

/** An entry that has no index yet. */
export interface OutboxRow extends NewLogEntry {
  id: number;
}

/** How many rows one INSERT has at most. */
const maxInserted = 64;

/** The items that writes add entries about. */
const items: ReadonlySet<string> = new Set(["agent", "community", "post", "comment"]);

/**
 * Adds the entries of a write when it commits, in this order, in the message of the COMMIT.
 * @param entries about agents, communities, posts and comments
 */
export function insertAtCommit(tx: Tx, entries: readonly NewLogEntry[]): void {
  if (entries.length === 0) return;
  const rows = entries.map(({ item, item_id, entry }) => {
    if (!items.has(item) || !Number.isSafeInteger(item_id)) throw new Error("This is no item of a write.");
    return `('${item}', ${item_id}, X'${Buffer.from(entry, "latin1").toString("hex")}')`;
  });
  tx.runAtCommit(`INSERT INTO log_outbox (item, item_id, entry) VALUES ${rows.join(", ")}`);
}

/** Adds entries, in this order. */
export async function insertIntoOutbox(tx: Tx, entries: readonly NewLogEntry[]): Promise<void> {
  for (const part of inPowersOfTwo(entries, maxInserted)) {
    await tx.run(
      `INSERT INTO log_outbox (item, item_id, entry) VALUES ${part.map(() => "(?, ?, ?)").join(", ")}`,
      part.flatMap(({ item, item_id, entry }) => [item, item_id, entry]),
    );
  }
}

/**
 * The entries with the lowest ids after `floor`. A later commit may have a lower id than one that was read before.
 * @param floor 0, or an id up to which all rows were gone long ago (see log/outbox-watch.ts)
 */
export function listOutbox(db: Queryable, floor: number, limit: number): Promise<OutboxRow[]> {
  const sql = "SELECT id, item, item_id, entry FROM log_outbox WHERE id > ? ORDER BY id LIMIT ?";
  return db.rows(sql, [floor, String(limit)]);
}

/** The lowest id after `floor`; undefined if there is none. */
export async function findOldestInOutbox(db: Queryable, floor: number): Promise<number | undefined> {
  const sql = "SELECT id FROM log_outbox WHERE id > ? ORDER BY id LIMIT 1";
  return (await db.rows<{ id: number }>(sql, [floor]))[0]?.id;
}

/** How many rows the outbox has after `floor`, at most `limit`. */
export async function countOutbox(db: Queryable, floor: number, limit: number): Promise<number> {
  const sql = "SELECT COUNT(*) AS n FROM (SELECT id FROM log_outbox WHERE id > ? LIMIT ?) o";
  const [row] = await db.rows<{ n: number }>(sql, [floor, String(limit)]);
  return Number(row?.n ?? 0);
}

/** Whether a row after `floor` is about an item. Of more than `limit` rows, any might be. */
export async function mayBeInOutbox(
  db: Queryable,
  floor: number,
  { item, id, limit }: { item: string; id: number; limit: number },
): Promise<boolean> {
  const sql = `SELECT COUNT(*) AS n, COALESCE(SUM(item_id = ? AND item = ?), 0) AS found
    FROM (SELECT item, item_id FROM log_outbox WHERE id > ? LIMIT ?) o`;
  const [row] = await db.rows<{ n: number; found: number }>(sql, [id, item, floor, String(limit)]);
  return Number(row?.found ?? 0) > 0 || Number(row?.n ?? 0) >= limit;
}
