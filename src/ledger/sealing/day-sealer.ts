import { StoaError } from "../../errors.ts";
import { chainStart } from "../../receipt/verify.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import type { ReceiptRow } from "../../store/tables/receipts.ts";
import { findSealedDay, listSealedDays } from "../../store/tables/seals.ts";
import { dateOf, dayMs, startOf } from "../calendar.ts";
import { approveHeadTime } from "../clock/approve-head-time.ts";
import type { LedgerLog } from "../log.ts";
import type { Verified } from "../verification/verification.ts";
import type { Verifier } from "../verification/verifier.ts";
import { checkOver, checkSealable, sealDay } from "./day.ts";
import { hashUnsealed } from "./moderations.ts";
import { SealingBlocked } from "./seal-checks.ts";
import type { Sealer } from "./sealer.ts";

export interface DaySealerOptions {
  db: Database;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  log: LedgerLog;
  /** The date of the first receipt, which is the first day that is sealed. */
  firstDay: string;
  sealer: Sealer;
  verifier: Verifier;
}

/** The days that were sealed after an operator approved it. */
interface SealedDays {
  /** In order; empty if no day was missed. */
  dates: string[];
  newest: ReceiptRow | undefined;
}

const unverified: Verified = { link: chainStart, count: 0, finding: undefined };

/** Seals days that are over. */
export class DaySealer {
  readonly #options: DaySealerOptions;

  constructor(options: DaySealerOptions) {
    this.#options = options;
  }

  /**
   * Seals one day that is over, at an operator's request.
   * @param reply makes the reply inside the transaction
   * @throws StoaError `bad_input` for a day that cannot be sealed, `exists` for one that is already sealed;
   * SealingBlocked while nothing may be sealed
   */
  async seal<Reply>(signal: AbortSignal, date: string, reply: (receipt: ReceiptRow) => Reply): Promise<Reply> {
    const { db, now, firstDay, sealer, verifier } = this.#options;
    const reader = db.longReader(signal);
    checkSealable(date, firstDay, now());
    const exists = (seq: number | undefined) =>
      new StoaError("exists", `Receipt ${seq} seals the day ${date}.`, { field: "date" });
    const known = await findSealedDay(reader, date);
    if (known !== undefined) throw exists(known);
    const blockReason = await sealer.blockReason(signal);
    if (blockReason !== undefined) throw new SealingBlocked(blockReason);
    const prior = await verifier.alarm.refresh(reader);
    const before = await verifier.afterOnOneServer(chainStart, signal);
    const acts = await db.onOneServer(signal, hashUnsealed);
    const { made, verified } = await sealer.write(signal, async (sealing) => {
      const outcome = await sealDay(sealing, date, before, acts);
      if (outcome.receipt === undefined) throw exists(await findSealedDay(sealing.tx, date));
      return { made: reply(outcome.receipt), verified: outcome.verified };
    });
    await verifier.record(verified, true, prior);
    return made;
  }

  /**
   * Seals, in order, every day that is over and not sealed, from the day of the first receipt on. If several replicas
   * do this at the same time, each day is sealed once.
   * @throws SealingBlocked while nothing may be sealed
   */
  async sealDue(signal: AbortSignal): Promise<void> {
    await this.#sealBefore(signal, dateOf(this.#options.now()), false);
  }

  /**
   * Seals, in order, the days up to `through` that were missed, however many they are: an operator approved this. If
   * the newest receipt's time is ahead of the clock, this also approves that time, and sealing continues from it.
   * @throws StoaError `bad_input` for a day that is not over; SealingBlocked while something else blocks sealing
   */
  async sealMissed(signal: AbortSignal, through: string): Promise<SealedDays> {
    const { now, log, sealer } = this.#options;
    checkOver(through, now());
    await sealer.write(signal, approveHeadTime, { isApproved: true });
    const sealed = await this.#sealBefore(signal, dateOf(startOf(through) + dayMs), true);
    log.info({ through, days: sealed.dates.length }, "an operator had the missed days sealed");
    return sealed;
  }

  /** Seals the days before `end` that are not sealed. */
  async #sealBefore(signal: AbortSignal, end: string, isApproved: boolean): Promise<SealedDays> {
    const { db, log, firstDay, sealer, verifier } = this.#options;
    const reader = db.longReader(signal);
    let verified = unverified;
    const sealed: SealedDays = { dates: [], newest: undefined };
    const prior = await verifier.alarm.refresh(reader);
    for (const date of await dueDays(reader, firstDay, end)) {
      if (verified.finding === undefined) verified = await verifier.afterOnOneServer(verified.link, signal);
      const before = verified;
      const acts = await db.onOneServer(signal, hashUnsealed);
      const outcome = await sealer.write(signal, (sealing) => sealDay(sealing, date, before, acts), {
        isApproved,
      });
      verified = outcome.verified;
      await verifier.record(verified, true, prior);
      const { receipt } = outcome;
      if (receipt === undefined) continue;
      log.info({ seq: receipt.seq, hash: receipt.hash, date }, "sealed a day");
      sealed.dates.push(date);
      sealed.newest = receipt;
    }
    return sealed;
  }
}

/** The days from `first` to before `end` that are not sealed, in order. */
export async function dueDays(db: Queryable, first: string, end: string): Promise<string[]> {
  const sealed = new Set(await listSealedDays(db, first));
  const due: string[] = [];
  for (let date = first; date < end; date = dateOf(startOf(date) + dayMs)) if (!sealed.has(date)) due.push(date);
  return due;
}
