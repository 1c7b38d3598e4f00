// What a check of the ledger's tables reads and repairs.
import type { Queryable, Tx } from "../database.ts";

export interface HeadRow {
  id: number;
  seq: number;
  hash: string;
  ts: number;
}

export interface EpochRow {
  id: number;
  epoch: string;
  first_day: string;
}

/** A day or a session of a book that is noted as sealed by receipt `seq`. */
export interface SealedRow {
  /** In UTF-8; null for a day. */
  book: Buffer | null;
  date: string;
  seq: number;
}

/** The few rows of the head; there should be one, of id 1. */
export function listHeads(db: Queryable): Promise<HeadRow[]> {
  return db.rows<HeadRow>("SELECT id, seq, hash, ts FROM ledger_head ORDER BY id LIMIT 10");
}

/** The few rows of the calendar; there should be one, of id 1. */
export function listEpochs(db: Queryable): Promise<EpochRow[]> {
  return db.rows<EpochRow>("SELECT id, epoch, first_day FROM ledger_epoch ORDER BY id LIMIT 10");
}

/** How many rows `listSealed` reads at once. */
const sealedBatch = 50;

/** Sealed days or sessions in the order of their keys, those after `after`; undefined means from the start. */
export async function listSealed(
  db: Queryable,
  table: "ledger_days" | "ledger_sessions",
  after: SealedRow | undefined,
): Promise<SealedRow[]> {
  if (table === "ledger_days") {
    return db.rows<SealedRow>(
      `SELECT NULL AS book, date, seq FROM ledger_days WHERE date > ? ORDER BY date LIMIT ${sealedBatch}`,
      [after?.date ?? ""],
    );
  }
  const book = after?.book ?? Buffer.alloc(0);
  return db.rows<SealedRow>(
    `SELECT book, session AS date, seq FROM ledger_sessions WHERE book >= ? AND (book > ? OR session > ?)
     ORDER BY book, session LIMIT ${sealedBatch}`,
    [book, book, after?.date ?? ""],
  );
}

/** By which receipt a day (`book` null) or a session is noted as sealed; undefined where it is not. */
export async function findSealed(db: Queryable, { book, date }: Omit<SealedRow, "seq">): Promise<number | undefined> {
  const [row] =
    book === null
      ? await db.rows<{ seq: number }>("SELECT seq FROM ledger_days WHERE date = ?", [date])
      : await db.rows<{ seq: number }>("SELECT seq FROM ledger_sessions WHERE book = ? AND session = ?", [book, date]);
  return row?.seq;
}

/** Notes a day or a session as sealed by `seq`, in place of what is noted. The head must be locked. */
export async function putSealed(tx: Tx, { book, date, seq }: SealedRow): Promise<void> {
  if (book === null) await tx.run("REPLACE INTO ledger_days (date, seq) VALUES (?, ?)", [date, seq]);
  else await tx.run("REPLACE INTO ledger_sessions (book, session, seq) VALUES (?, ?, ?)", [book, date, seq]);
}

/** Deletes the note of a day or a session, if it still names `seq`. The head must be locked. */
export async function deleteSealed(tx: Tx, { book, date, seq }: SealedRow): Promise<void> {
  if (book === null) await tx.run("DELETE FROM ledger_days WHERE date = ? AND seq = ?", [date, seq]);
  else await tx.run("DELETE FROM ledger_sessions WHERE book = ? AND session = ? AND seq = ?", [book, date, seq]);
}

/** Sets the time of the head, in milliseconds since 1970 (UTC), if it still stands at `seq`. */
export async function putHeadTime(tx: Tx, seq: number, ts: number): Promise<void> {
  await tx.run("UPDATE ledger_head SET ts = ? WHERE id = 1 AND seq = ?", [ts, seq]);
}

export async function putEpoch(tx: Tx, { epoch, first_day }: Omit<EpochRow, "id">): Promise<void> {
  await tx.run("REPLACE INTO ledger_epoch (id, epoch, first_day) VALUES (1, ?, ?)", [epoch, first_day]);
}
