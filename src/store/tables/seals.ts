import { StoredDamage } from "../../errors.ts";
import { isDate } from "../../receipt/document.ts";
import type { Queryable, Tx } from "../database/queryable.ts";
import { insertOnce } from "./insert-once.ts";

/** Records that receipt `seq` seals a day; false if the day was sealed before. */
export async function insertSealedDay(tx: Tx, date: string, seq: number): Promise<boolean> {
  const sql = "INSERT INTO ledger_days (date, seq) VALUES (?, ?)";
  return (await insertOnce(tx, "PRIMARY", sql, [date, seq])) !== undefined;
}

/** Records that receipt `seq` seals a session of a book; false if the session was sealed before. */
export async function insertSealedSession(tx: Tx, book: string, session: string, seq: number): Promise<boolean> {
  const sql = "INSERT INTO ledger_sessions (book, session, seq) VALUES (?, ?, ?)";
  // Books are compared as bytes, so that names which differ in case, accents or trailing spaces are different books.
  return (await insertOnce(tx, "PRIMARY", sql, [Buffer.from(book), session, seq])) !== undefined;
}

/** The seq of the receipt that seals a session of a book; undefined if none does. */
export async function findSealedSession(db: Queryable, book: string, session: string): Promise<number | undefined> {
  const sql = "SELECT seq FROM ledger_sessions WHERE book = ? AND session = ?";
  return (await db.rows<{ seq: number }>(sql, [Buffer.from(book), session]))[0]?.seq;
}

/** The seq of the receipt that seals a day; undefined if none does. */
export async function findSealedDay(db: Queryable, date: string): Promise<number | undefined> {
  return (await db.rows<{ seq: number }>("SELECT seq FROM ledger_days WHERE date = ?", [date]))[0]?.seq;
}

/** The sealed days from `from` on, in order. There is one row for each day, so some thousands in ten years. */
export async function listSealedDays(db: Queryable, from: string): Promise<string[]> {
  const rows = await db.rows<{ date: string }>("SELECT date FROM ledger_days WHERE date >= ? ORDER BY date", [from]);
  return rows.map(({ date }) => date);
}

/** The dates that the first start fixes for good, as YYYY-MM-DD. */
export interface Calendar {
  /** The date that is city_day 1. */
  epoch: string;
  /** The date of the first receipt. */
  first_day: string;
}

/** Undefined before the first start. @throws StoredDamage if a stored value is no date */
export async function readCalendar(db: Queryable): Promise<Calendar | undefined> {
  const [calendar] = await db.rows<Calendar>("SELECT epoch, first_day FROM ledger_epoch WHERE id = 1");
  if (calendar !== undefined) checkDates([calendar.epoch, calendar.first_day]);
  return calendar;
}

/** Checks values of the calendar. @throws StoredDamage if one is no date */
export function checkDates(dates: readonly string[]): void {
  if (!dates.every(isDate)) throw new StoredDamage("The row of ledger_epoch is damaged; run stoa fsck --repair.");
}

export async function insertCalendar(tx: Tx, { epoch, first_day }: Calendar): Promise<void> {
  await tx.run("INSERT INTO ledger_epoch (id, epoch, first_day) VALUES (1, ?, ?)", [epoch, first_day]);
}
