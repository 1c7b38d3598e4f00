import type { Queryable, Tx } from "../database/queryable.ts";
import { type Head, sound } from "./receipts.ts";
import { checkDates } from "./seals.ts";

// An operator approves a receipt whose time is ahead of the clock. The table ledger_clock_words stores these approvals.

/** What the database knows of the time. Times are in milliseconds since 1970 (UTC). */
export interface KnownTimes {
  /** The database's own clock. */
  databaseNow: number;
  /** The newest receipt's; 0 before the first. */
  headTs: number;
  /** The newest ts that an operator approved although it is ahead of the clock; 0 if there is none. */
  approvedTs: number;
  /** The date of the first receipt; undefined before it. */
  firstDay: string | undefined;
  /** How many days before the one that was asked about are sealed. */
  sealedDays: number;
}

/**
 * @param today a UTC date, YYYY-MM-DD
 * @throws StoredDamage where the head or the calendar is damaged
 */
export async function readKnownTimes(db: Queryable, today: string): Promise<KnownTimes> {
  // UTC_TIMESTAMP depends on no time zone. The subqueries read all approvals, which are few because an operator gives each, and
  // the index of ledger_days, which has one row a day.
  interface Row extends Head {
    micros: number;
    accepted: number | null;
    first_day: string | null;
    sealed: number;
  }
  const [found] = await db.rows<Row>(
    `SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01 00:00:00', UTC_TIMESTAMP(6)) AS micros, seq, hash, ts,
       (SELECT MAX(ts) FROM ledger_clock_words) AS accepted,
       (SELECT first_day FROM ledger_epoch WHERE id = 1) AS first_day,
       (SELECT COUNT(*) FROM ledger_days WHERE date < ?) AS sealed
     FROM ledger_head WHERE id = 1`,
    [today],
  );
  const row = sound(found);
  if (row.first_day !== null) checkDates([row.first_day]);
  return {
    databaseNow: Number(row.micros) / 1000,
    headTs: row.ts,
    approvedTs: Number(row.accepted ?? 0),
    firstDay: row.first_day ?? undefined,
    sealedDays: Number(row.sealed),
  };
}

/** The newest ts that an operator approved; 0 if there is none. It reads all approvals, which are few. */
export async function readApprovedTs(db: Queryable): Promise<number> {
  const [row] = await db.rows<{ ts: number | null }>("SELECT MAX(ts) AS ts FROM ledger_clock_words");
  return Number(row?.ts ?? 0);
}

/** An operator's approval of a receipt whose time is ahead of the clock. */
export interface ClockApproval {
  seq: number;
  /** The receipt's, in milliseconds since 1970 (UTC). */
  ts: number;
}

/** Lists up to 50 approvals of receipts after receipt `after`, in the order of their receipts. */
export function listClockApprovals(db: Queryable, after: number): Promise<ClockApproval[]> {
  return db.rows<ClockApproval>("SELECT seq, ts FROM ledger_clock_words WHERE seq > ? ORDER BY seq LIMIT 50", [after]);
}

export async function putClockApprovalTime(tx: Tx, { seq, ts }: ClockApproval): Promise<void> {
  await tx.run("UPDATE ledger_clock_words SET ts = ? WHERE seq = ?", [ts, seq]);
}

export async function deleteClockApproval(tx: Tx, seq: number): Promise<void> {
  await tx.run("DELETE FROM ledger_clock_words WHERE seq = ?", [seq]);
}

/** Stores the approval of `head`, which is locked and not approved yet. @param givenAt milliseconds since 1970 (UTC) */
export async function insertClockApproval(tx: Tx, head: Head, givenAt: number): Promise<void> {
  await tx.run("INSERT INTO ledger_clock_words (seq, ts, given_at) VALUES (?, ?, ?)", [head.seq, head.ts, givenAt]);
}
