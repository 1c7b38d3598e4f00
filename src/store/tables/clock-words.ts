import type { Queryable, Tx } from "../database/database.ts";
import type { Head } from "./receipts.ts";

/** What the database knows of the time. Times are in milliseconds since 1970 (UTC). */
export interface KnownTimes {
  /** The database's own clock. */
  databaseNow: number;
  /** The newest receipt's; 0 before the first. */
  headTs: number;
  /** The newest ts of which an operator has said that it is ahead of a clock that is right; 0 where none is. */
  acceptedTs: number;
  /** The date of the first receipt; undefined before it. */
  firstDay: string | undefined;
  /** How many days before the one that was asked about are sealed. */
  sealedDays: number;
}

/** @param today a UTC date, YYYY-MM-DD */
export async function readKnownTimes(db: Queryable, today: string): Promise<KnownTimes> {
  // UTC_TIMESTAMP depends on no time zone; the head is one row, and so is the result.
  const [row] = await db.rows<{
    micros: number;
    ts: number;
    accepted: number | null;
    first_day: string | null;
    sealed: number;
  }>(
    `SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS micros, ts,
       (SELECT MAX(ts) FROM ledger_clock_words) AS accepted,
       (SELECT first_day FROM ledger_epoch WHERE id = 1) AS first_day,
       (SELECT COUNT(*) FROM ledger_days WHERE date < ?) AS sealed
     FROM ledger_head WHERE id = 1`,
    [today],
  );
  if (row === undefined) throw new Error("The row of ledger_head is gone; restore it from a backup.");
  return {
    databaseNow: Number(row.micros) / 1000,
    headTs: Number(row.ts),
    acceptedTs: Number(row.accepted ?? 0),
    firstDay: row.first_day ?? undefined,
    sealedDays: Number(row.sealed),
  };
}

/** The newest ts that was noted by `insertClockWord`; 0 where none was. */
export async function readAcceptedTs(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ ts: number | null }>("SELECT MAX(ts) AS ts FROM ledger_clock_words");
  return Number(row?.ts ?? 0);
}

/** What an operator has said of the time of a receipt. */
export interface ClockWord {
  seq: number;
  /** The receipt's, in milliseconds since 1970 (UTC). */
  ts: number;
}

/** Some of the words, in the order of their receipts: those after receipt `after`. */
export function listClockWords(db: Queryable, after: number): Promise<ClockWord[]> {
  return db.rows<ClockWord>("SELECT seq, ts FROM ledger_clock_words WHERE seq > ? ORDER BY seq LIMIT 50", [after]);
}

export async function putClockWordTime(tx: Tx, { seq, ts }: ClockWord): Promise<void> {
  await tx.run("UPDATE ledger_clock_words SET ts = ? WHERE seq = ?", [ts, seq]);
}

export async function deleteClockWord(tx: Tx, seq: number): Promise<void> {
  await tx.run("DELETE FROM ledger_clock_words WHERE seq = ?", [seq]);
}

/** Notes that the ts of `head`, which is locked, may be ahead of the clock. It must not have been noted before. */
export async function insertClockWord(tx: Tx, head: Head, givenAt: number): Promise<void> {
  await tx.run("INSERT INTO ledger_clock_words (seq, ts, given_at) VALUES (?, ?, ?)", [head.seq, head.ts, givenAt]);
}
