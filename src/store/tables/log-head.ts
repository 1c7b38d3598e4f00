import { StoredDamage } from "../../errors.ts";
import type { Queryable, Tx } from "../database/queryable.ts";
import { isCount } from "./one-row.ts";

/** The tree that is committed, and the newest note. */
export interface LogHead {
  /** How many entries there are. 0 while no log has begun. */
  size: number;
  /** MTH of the entries, 32 bytes. */
  root: Buffer;
  /** The newest act of moderation that has an entry. */
  acts: number;
  /** The newest receipt that has an entry. */
  receipts: number;
  /** The size of the tree of the note; 0 if there is no note. */
  signed: number;
  note: string | null;
  /** 1 once the database was restored from a backup, until it is compared with what was published. */
  restored: number;
}

/** What the sequencer changes in the head. */
export type LogTree = Pick<LogHead, "size" | "root" | "acts" | "receipts">;

const columns = "size, root, acts, receipts, signed, note, restored";

/** @throws StoredDamage for a row that is missing, or whose values cannot be right */
export async function readLogHead(db: Queryable): Promise<LogHead> {
  return sound((await db.rows<LogHead>(`SELECT ${columns} FROM log_head WHERE id = 1`))[0]);
}

/** The head, and what there is to be sequenced, all at one moment. */
export interface LogState extends LogHead {
  /** The lowest id in the outbox after the floor; null if there is none. */
  oldest: number | null;
  /** The newest act of moderation and the newest receipt; null if there is none. */
  newestAct: number | null;
  newestReceipt: number | null;
}

/** @param floor as in `listOutbox`. @throws StoredDamage as `readLogHead` */
export async function readLogState(db: Queryable, floor: number): Promise<LogState> {
  const sql = `SELECT ${columns}, (SELECT MIN(id) FROM log_outbox WHERE id > ?) AS oldest,
      (SELECT MAX(id) FROM moderations) AS newestAct, (SELECT MAX(seq) FROM receipts) AS newestReceipt
    FROM log_head WHERE id = 1`;
  return sound((await db.rows<LogState>(sql, [floor]))[0]);
}

function sound<Row extends LogHead>(row: Row | undefined): Row {
  if (row === undefined) throw new StoredDamage("The row of log_head is missing; restore it from a backup.");
  const { size, acts, receipts, signed, note } = row;
  const isSound = [size, acts, receipts, signed].every(isCount) && signed <= size && signed > 0 === (note !== null);
  if (isSound) return row;
  throw new StoredDamage("The row of log_head is damaged; stoa fsck says how.");
}

/**
 * Replaces the tree, if it still is the one that the caller has extended. Do this first of all in a transaction.
 * @returns false, and nothing is changed, if it is another one
 */
export async function advanceLogHead(tx: Tx, from: Pick<LogTree, "size" | "root">, to: LogTree): Promise<boolean> {
  const { affectedRows } = await tx.run(
    "UPDATE log_head SET size = ?, root = ?, acts = ?, receipts = ? WHERE id = 1 AND size = ? AND root = ?",
    [to.size, to.root, to.acts, to.receipts, from.size, from.root],
  );
  return affectedRows === 1;
}

/**
 * Stores a note of a larger tree than that of the note before.
 * @param signed the size of its tree
 * @returns false, and nothing is changed, if there is one of that tree or a larger one, or the tree is not committed
 */
export async function putLogNote(tx: Tx, signed: number, note: string): Promise<boolean> {
  const { affectedRows } = await tx.run(
    "UPDATE log_head SET signed = ?, note = ? WHERE id = 1 AND signed < ? AND size >= ?",
    [signed, note, signed, signed],
  );
  return affectedRows === 1;
}

/** Says that the database was restored from a backup, or that it was compared with what was published. */
export async function putLogRestored(tx: Tx, restored: boolean): Promise<void> {
  await tx.run("UPDATE log_head SET restored = ? WHERE id = 1", [Number(restored)]);
}
