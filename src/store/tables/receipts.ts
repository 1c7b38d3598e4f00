import { StoredDamage } from "../../errors.ts";
import { isDuplicate } from "../database/database-errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";
import { inList } from "./id-lists.ts";
import { isCount, isTime } from "./one-row.ts";

/** A receipt as stored: the canonical bytes, and the values that are also in them. */
export interface ReceiptRow {
  seq: number;
  hash: string;
  prev_hash: string;
  canonical: Buffer;
}

/** The newest receipt, or seq 0 and zeros before the first. `ts` is its time in milliseconds since 1970 (UTC). */
export interface Head {
  seq: number;
  hash: string;
  ts: number;
}

const columns = "seq, hash, prev_hash, canonical";

/** Locks the head: nobody else can append until the transaction ends. @throws StoredDamage as `sound` */
export async function lockHead(tx: Tx): Promise<Head> {
  const [head] = await tx.rows<Head>("SELECT seq, hash, ts FROM ledger_head WHERE id = 1 FOR UPDATE");
  return sound(head);
}

/** @throws StoredDamage as `sound` */
export async function readHead(db: Queryable): Promise<Head> {
  const [head] = await db.rows<Head>("SELECT seq, hash, ts FROM ledger_head WHERE id = 1");
  return sound(head);
}

/** @throws StoredDamage for a row that is missing, or whose numbers cannot be right */
export function sound<Row extends Head>(head: Row | undefined): Row {
  if (head === undefined) throw new StoredDamage("The row of ledger_head is missing; restore it from a backup.");
  if (isCount(head.seq) && isTime(head.ts)) return head;
  throw new StoredDamage("The row of ledger_head is damaged; stoa fsck says how, and repairs its time.");
}

/**
 * Writes a receipt and moves the head, which must be locked. `ts` in milliseconds since 1970 (UTC).
 * @throws StoredDamage when there is a receipt after the head already
 */
export async function insertReceipt(tx: Tx, receipt: ReceiptRow, ts: number): Promise<void> {
  const { seq, hash, prev_hash, canonical } = receipt;
  try {
    await tx.run("INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES (?, ?, ?, ?)", [
      seq,
      hash,
      prev_hash,
      canonical,
    ]);
  } catch (error) {
    if (!isDuplicate(error, "PRIMARY")) throw error;
    throw new StoredDamage(
      `The head of the ledger is receipt ${seq - 1}, but there are later receipts; restore the ledger from a backup.`,
      error,
    );
  }
  await tx.run("UPDATE ledger_head SET seq = ?, hash = ?, ts = ? WHERE id = 1", [seq, hash, ts]);
}

export async function findReceipt(db: Queryable, seq: number): Promise<ReceiptRow | undefined> {
  return (await db.rows<ReceiptRow>(`SELECT ${columns} FROM receipts WHERE seq = ?`, [seq]))[0];
}

/** The seq of the receipt with this hash; undefined if neither the receipt after it nor the head has the hash. */
export async function findSeqOfHash(db: Queryable, hash: string): Promise<number | undefined> {
  // The column of hashes has no index. Each hash is also the prev_hash of the next receipt, and the newest is in the head.
  const rows = await db.rows<{ seq: number }>(
    "SELECT seq - 1 AS seq FROM receipts WHERE prev_hash = ? AND seq > 1 UNION SELECT seq FROM ledger_head WHERE id = 1 AND hash = ?",
    [hash, hash],
  );
  return rows[0]?.seq;
}

/** Receipts, each with the hash of another receipt at the same moment. @param seqs at most `maxListed`, without repetitions */
export function findReceiptsBeside(
  db: Queryable,
  seqs: readonly number[],
  other: number,
): Promise<(ReceiptRow & { other_hash: string | null })[]> {
  const { places, list } = inList(seqs);
  const sql = `SELECT ${columns}, (SELECT hash FROM receipts WHERE seq = ?) AS other_hash FROM receipts WHERE seq IN (${places})`;
  return db.rows(sql, [other, ...list]);
}

/** The recorded hashes of a receipt: its own, and the `prev_hash` of the next receipt. */
export async function findLinks(db: Queryable, seq: number): Promise<string[]> {
  const rows = await db.rows<{ hash: string }>(
    "SELECT hash FROM receipts WHERE seq = ? UNION ALL SELECT prev_hash FROM receipts WHERE seq = ?",
    [seq, seq + 1],
  );
  return rows.map(({ hash }) => hash);
}

/** Receipts from `from` on, in the order of the chain. */
export function listReceipts(db: Queryable, from: number, limit: number): Promise<ReceiptRow[]> {
  return db.rows<ReceiptRow>(`SELECT ${columns} FROM receipts WHERE seq >= ? ORDER BY seq LIMIT ?`, [
    from,
    String(limit),
  ]);
}

/** What the log says of receipts. `tail` is the end of their canonical bytes, in which the time stands. */
export interface ReceiptSummary {
  seq: number;
  hash: string;
  tail: Buffer;
}

/** `"ts":"2026-01-31T00:00:04.120Z","v":1}` */
const tailBytes = 38;

/** The receipts after `after`, in the order of the chain, without their bytes. */
export function listReceiptSummaries(db: Queryable, after: number, limit: number): Promise<ReceiptSummary[]> {
  return db.rows(
    `SELECT seq, hash, RIGHT(canonical, ${tailBytes}) AS tail FROM receipts WHERE seq > ? ORDER BY seq LIMIT ?`,
    [after, String(limit)],
  );
}

/** The number of bytes of each receipt from `from` on, in the order of the chain. The bytes themselves are not read. */
export async function listReceiptLengths(db: Queryable, from: number, limit: number): Promise<number[]> {
  const rows = await db.rows<{ length: number }>(
    "SELECT OCTET_LENGTH(canonical) AS length FROM receipts WHERE seq >= ? ORDER BY seq LIMIT ?",
    [from, String(limit)],
  );
  return rows.map(({ length }) => Number(length));
}

/** The length of the largest receipt from `from` to `to`, in bytes. It reads the rows between, which the caller limits. */
export async function largestReceipt(db: Queryable, from: number, to: number): Promise<number> {
  const [row] = await db.rows<{ largest: number | null }>(
    "SELECT MAX(OCTET_LENGTH(canonical)) AS largest FROM receipts WHERE seq BETWEEN ? AND ?",
    [from, to],
  );
  return Number(row?.largest ?? 0);
}
