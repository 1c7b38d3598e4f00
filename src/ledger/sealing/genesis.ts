import { zeroHash } from "../../receipt/document.ts";
import type { Database } from "../../store/database/database.ts";
import { lockHead, type ReceiptRow } from "../../store/tables/receipts.ts";
import { type Calendar, insertCalendar, readCalendar } from "../../store/tables/seals.ts";
import { dateOf } from "../calendar.ts";
import type { LedgerLog } from "../log.ts";
import { append, clerk, type Sealing, verificationPath } from "./append.ts";
import type { SealChecks } from "./seal-checks.ts";

interface FirstStart {
  db: Database;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  log: LedgerLog;
  sealChecks?: SealChecks | undefined;
  guard?: Sealing["guard"];
  /** The date that is city_day 1; by default today. */
  epoch?: string | undefined;
  signal: AbortSignal;
}

/**
 * Begins a ledger: stores the calendar and seals receipt 1. If several replicas do this at the same time, one of them
 * does it and the others read its calendar.
 * @throws SealingBlocked when receipt 1 may not be sealed; Error when the epoch is in the future, or when there are receipts
 * and no calendar
 */
export async function beginLedger(options: FirstStart): Promise<Calendar> {
  const { db, now, log, sealChecks, guard, epoch: configured, signal } = options;
  const blockReason = await sealChecks?.blockReason(signal);
  return db.transaction(signal, async (tx) => {
    const time = now();
    const today = dateOf(time);
    const epoch = configured ?? today;
    // This locks the head. The other replicas wait here.
    const receipt = await sealGenesis({ tx, now: time, epoch, blockReason, guard });
    const existing = await readCalendar(tx);
    if (existing !== undefined) return existing;
    if (receipt === undefined) throw new Error("The row of ledger_epoch is missing; restore it from a backup.");
    if (epoch > today) throw new Error(`STOA_LEDGER_EPOCH is ${epoch}, a day that has not come yet.`);
    const calendar = { epoch, first_day: today };
    await insertCalendar(tx, calendar);
    log.info({ seq: receipt.seq, hash: receipt.hash }, "sealed the first receipt");
    return calendar;
  });
}

/** Seals receipt 1 if the chain is empty. @returns undefined if the chain already has receipts */
export async function sealGenesis(sealing: Sealing): Promise<ReceiptRow | undefined> {
  const head = await lockHead(sealing.tx);
  if (head.seq > 0) return undefined;
  return append(sealing, head, {
    book: null,
    actor: clerk,
    evidence: { note: "Sealed by the first start of this ledger.", source: verificationPath },
    body: () => ({ type: "genesis", count: 0, head: zeroHash, note: "The first receipt: nothing comes before it." }),
  });
}
