import { StoaError } from "../../errors.ts";
import { chainStart } from "../../receipt/verify.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import type { ReceiptRow } from "../../store/tables/receipts.ts";
import { listSealedDays } from "../../store/tables/seals.ts";
import { approveHeadTime } from "../clock/approve-head-time.ts";
import type { LedgerLog } from "../log.ts";
import type { Verified } from "../verification/verification.ts";
import type { Verifier } from "../verification/verifier.ts";
import { dateOf, dayMs, type Sealing, startOf } from "./append.ts";
import { SealingBlocked } from "./seal-checks.ts";
import { checkOver, checkSealable, sealDay } from "./seals.ts";

export interface DaySealsOptions {
  db: Database;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  log: LedgerLog;
  /** The date of the first receipt: the first day that is sealed. */
  firstDay: string;
  /** Why nothing may be sealed now. */
  held(signal: AbortSignal): Promise<string | undefined>;
  write<Reply>(signal: AbortSignal, work: (sealing: Sealing) => Promise<Reply>, catchUp?: boolean): Promise<Reply>;
  verifier: Verifier;
}

/** What an operator's word had sealed. */
export interface CaughtUp {
  /** In order; empty where no day was missed. */
  dates: string[];
  newest: ReceiptRow | undefined;
}

const unverified: Verified = { link: chainStart, count: 0, finding: undefined };

/** The sealing of days that are over. */
export class DaySeals {
  readonly #options: DaySealsOptions;

  constructor(options: DaySealsOptions) {
    this.#options = options;
  }

  /** See `Ledger.sealDaily`. */
  async sealDaily<Reply>(signal: AbortSignal, date: string, reply: (receipt: ReceiptRow) => Reply): Promise<Reply> {
    const { db, now, firstDay, held, write, verifier } = this.#options;
    const reader = db.longReader(signal);
    checkSealable(date, firstDay, now());
    const sealed = () => new StoaError("exists", `The day ${date} is sealed.`, { field: "date" });
    if ((await listSealedDays(reader, date))[0] === date) throw sealed();
    const hold = await held(signal);
    if (hold !== undefined) throw new SealingBlocked(hold);
    const prior = await verifier.alarm.refresh(reader);
    const before = await verifier.after(reader, chainStart, signal);
    const { made, verified } = await write(signal, async (sealing) => {
      const outcome = await sealDay(sealing, date, before);
      if (outcome.receipt === undefined) throw sealed();
      return { made: reply(outcome.receipt), verified: outcome.verified };
    });
    await verifier.note(verified, true, prior);
    return made;
  }

  /** See `Ledger.sealDueDays`. */
  async sealDueDays(signal: AbortSignal): Promise<void> {
    await this.#seal(signal, dateOf(this.#options.now()), false);
  }

  /** See `Ledger.sealMissed`. */
  async sealMissed(signal: AbortSignal, through: string): Promise<CaughtUp> {
    const { now, log, write } = this.#options;
    checkOver(through, now());
    await write(signal, approveHeadTime, true);
    const sealed = await this.#seal(signal, dateOf(startOf(through) + dayMs), true);
    log.info({ through, days: sealed.dates.length }, "an operator had the missed days sealed");
    return sealed;
  }

  /** Seals the days before `end` that are not sealed. */
  async #seal(signal: AbortSignal, end: string, catchUp: boolean): Promise<CaughtUp> {
    const { db, log, firstDay, write, verifier } = this.#options;
    const reader = db.longReader(signal);
    let verified = unverified;
    const sealed: CaughtUp = { dates: [], newest: undefined };
    const prior = await verifier.alarm.refresh(reader);
    for (const date of await dueDays(reader, firstDay, end)) {
      if (verified.finding === undefined) verified = await verifier.after(reader, verified.link, signal);
      const before = verified;
      const outcome = await write(signal, (sealing) => sealDay(sealing, date, before), catchUp);
      verified = outcome.verified;
      await verifier.note(verified, true, prior);
      const { receipt } = outcome;
      if (receipt === undefined) continue;
      log.info({ seq: receipt.seq, hash: receipt.hash, date }, "sealed a day");
      sealed.dates.push(date);
      sealed.newest = receipt;
    }
    return sealed;
  }
}

/** The days from `first` on and before `end` that are not sealed, in order. */
export async function dueDays(db: Queryable, first: string, end: string): Promise<string[]> {
  const sealed = new Set(await listSealedDays(db, first));
  const due: string[] = [];
  for (let date = first; date < end; date = dateOf(startOf(date) + dayMs)) if (!sealed.has(date)) due.push(date);
  return due;
}
