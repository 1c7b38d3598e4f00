import { StoaError } from "../../errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";
import { inPowersOfTwo } from "./id-lists.ts";

/** An entry, and the item that it is about. */
export interface NewLogEntry {
  /** `post`, `comment`, `agent`, `community`, `report`, `receipt`, `log` or `recovery`. An act stands under its item. */
  item: string;
  /** The id of the item, or the seq of a receipt. */
  item_id: number;
  /** Canonical JSON in ASCII, as it is hashed. */
  entry: string;
}

export interface LogEntryRow extends NewLogEntry {
  idx: number;
}

const columns = "idx, item, item_id, entry";

/** Entries from the index `from` on, in order. */
export function listLogEntries(db: Queryable, from: number, limit: number): Promise<LogEntryRow[]> {
  return db.rows(`SELECT ${columns} FROM log_entries WHERE idx >= ? ORDER BY idx LIMIT ?`, [from, String(limit)]);
}

export async function findLogEntry(db: Queryable, index: number): Promise<LogEntryRow | undefined> {
  return (await db.rows<LogEntryRow>(`SELECT ${columns} FROM log_entries WHERE idx = ?`, [index]))[0];
}

/** Entries of an item from the index `from` on, in order. */
export function listLogEntriesOf(
  db: Queryable,
  item: string,
  itemId: number,
  from: number,
  limit: number,
): Promise<LogEntryRow[]> {
  const sql = `SELECT ${columns} FROM log_entries WHERE item_id = ? AND item = ? AND idx >= ? ORDER BY idx LIMIT ?`;
  return db.rows(sql, [itemId, item, from, String(limit)]);
}

// In canonical JSON the members stand in the order of their names, so an entry begins with `act` or `content` if it has one.
const kinds = {
  /** Entries that commit to a text. */
  content: `entry LIKE '{"content":%'`,
  /** Deletions by the author, and acts that remove. */
  removal: `(entry LIKE '{"act":"remove",%' OR entry LIKE '%"type":"deletion","v":1}')`,
  /** Receipts and others. */
  any: "TRUE",
} as const;

interface NewestQuery {
  /** The entry has a lower index. */
  before?: number;
  /** How many of the newest entries of the item are looked at; by default all. */
  among?: number | undefined;
}

/** The newest entry of an item that commits to a text, that removes it, or of any kind. */
export async function findNewestLogEntry(
  db: Queryable,
  item: string,
  itemId: number,
  kind: keyof typeof kinds,
  { before = Number.MAX_SAFE_INTEGER, among }: NewestQuery = {},
): Promise<LogEntryRow | undefined> {
  const floor = among === undefined ? "0" : `COALESCE((${nth}), -1) + 1`;
  const sql = `SELECT ${columns} FROM log_entries WHERE item_id = ? AND item = ? AND idx < ? AND idx >= ${floor} AND ${kinds[kind]}
    ORDER BY idx DESC LIMIT 1`;
  const params = among === undefined ? [] : [itemId, item, String(among)];
  return (await db.rows<LogEntryRow>(sql, [itemId, item, before, ...params]))[0];
}

/** Whether an item has more entries than `count`. */
export async function hasMoreLogEntries(db: Queryable, item: string, itemId: number, count: number): Promise<boolean> {
  return (await db.rows(nth, [itemId, item, String(count)])).length > 0;
}

/** The index of an entry of an item, by its place among the newest ones. It reads as many rows of an index. */
const nth = "SELECT idx FROM log_entries WHERE item_id = ? AND item = ? ORDER BY idx DESC LIMIT 1 OFFSET ?";

/** How many rows one INSERT has at most. */
const maxInserted = 64;

/** Appends entries: the first gets the index `first`. The head must have been advanced in this transaction. */
export async function insertLogEntries(tx: Tx, first: number, entries: readonly NewLogEntry[]): Promise<void> {
  let idx = first;
  for (const part of inPowersOfTwo(entries, maxInserted)) {
    const values = part.flatMap(({ item, item_id, entry }) => [idx++, item, item_id, entry]);
    const rows = part.map(() => "(?, ?, ?, ?)").join(", ");
    await tx.run(`INSERT INTO log_entries (${columns}) VALUES ${rows}`, values);
  }
}

/**
 * The rows of the outbox with the ids of a list, each by its key. For `id IN (…)` with most of the rows, the engines would read
 * the whole table, and a DELETE would wait for rows that are not committed.
 */
const listed = `JSON_TABLE(?, '$[*]' COLUMNS (id BIGINT PATH '$')) l
  STRAIGHT_JOIN log_outbox o FORCE INDEX (PRIMARY) ON o.id = l.id`;

/**
 * Moves rows of the outbox to the entries: the one with the lowest id gets the index `first`. The head must have been advanced
 * in this transaction. Ids that another transaction inserts meanwhile are not waited for.
 * @param ids different ids
 * @throws StoaError `unavailable` if the outbox does not have all of them
 */
export async function insertOutboxEntries(tx: Tx, first: number, ids: readonly number[]): Promise<void> {
  const list = JSON.stringify(ids);
  const inserted = await tx.run(
    `INSERT INTO log_entries (${columns})
     SELECT ? + ROW_NUMBER() OVER (ORDER BY o.id), o.item, o.item_id, o.entry FROM ${listed}`,
    [first - 1, list],
  );
  const deleted = await tx.run(`DELETE o FROM ${listed}`, [list]);
  if (inserted.affectedRows === ids.length && deleted.affectedRows === ids.length) return;
  throw new StoaError("unavailable", "The outbox of the log has changed meanwhile.");
}
