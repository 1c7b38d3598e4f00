import { notFound, StoaError } from "../errors.ts";
import type { Database } from "../store/database/database.ts";
import type { Queryable } from "../store/database/queryable.ts";
import { type Head, listReceiptLengths, listReceipts, type ReceiptRow, readHead } from "../store/tables/receipts.ts";
import { type Calendar, insertCalendar, readCalendar } from "../store/tables/seals.ts";
import { findWithGuard, sealWithGuard } from "./head-guard/guarded-sealing.ts";
import type { HeadGuard } from "./head-guard/head-guard.ts";
import type { LedgerLog } from "./log.ts";
import { HeadWatch } from "./reading/head-watch.ts";
import { NewestReceipts } from "./reading/newest-receipts.ts";
import { type Followers, missingReceipt, type StreamQuery, streamReceipts } from "./reading/stream.ts";
import { dateOf, type Sealing } from "./sealing/append.ts";
import { type CaughtUp, DaySeals } from "./sealing/day-sealer.ts";
import type { SealChecks } from "./sealing/seal-checks.ts";
import { sealGenesis } from "./sealing/seals.ts";
import type { Verified } from "./verification/verification.ts";
import type { Report } from "./verification/verification-queue.ts";
import { Verifier } from "./verification/verifier.ts";

export type { ReceiptRow } from "../store/tables/receipts.ts";
export type { Report } from "./verification/verification-queue.ts";

export interface LedgerOptions {
  db: Database;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  log: LedgerLog;
  /** What may forbid to seal; by default nothing does. */
  holds?: SealChecks | undefined;
  /** What remembers the newest receipt outside the database; its check belongs to `holds`. */
  guard?: HeadGuard | undefined;
  /** The date that is city_day 1; by default the date of the first start. */
  epoch?: string | undefined;
  /** How long a caller waits for another verification than the one it asks for, in milliseconds. */
  maxWaitMs?: number | undefined;
  /** How long a good report of a verification is given again, in milliseconds. */
  maxReportAgeMs?: number | undefined;
  /** Gives up the opening. */
  signal?: AbortSignal | undefined;
}

const never = new AbortController().signal;
/**
 * How many bytes the receipts of a page have. In a reply each stands twice, as an object and as a string, whose escapes may
 * take as much again: this makes 4 MiB at most.
 */
const maxPageBytes = 1.25 * 1024 * 1024;

/** Consecutive receipts of the chain. */
export interface ReceiptPage {
  receipts: ReceiptRow[];
  /** Where the next page begins; undefined on the last one. */
  nextFrom: number | undefined;
  headSeq: number;
  /** Whether receipts of the page are missing from the database. */
  lacksReceipts: boolean;
}

/** The chain of receipts: sealing, reading, verifying and following it. */
export class Ledger {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #holds: SealChecks | undefined;
  readonly #days: DaySeals;
  readonly #guard: HeadGuard | undefined;
  readonly #calendar: Calendar;
  readonly #followers: Followers;
  readonly #verifier: Verifier;
  readonly #stopping = new AbortController();

  private constructor({ db, now, log, holds, guard, maxWaitMs, maxReportAgeMs }: LedgerOptions, calendar: Calendar) {
    this.#db = db;
    this.#now = now;
    this.#holds = holds;
    this.#guard = guard;
    this.#calendar = calendar;
    const reader = db.longReader(this.#stopping.signal);
    const saw = (head: Head) => guard?.saw(head);
    this.#followers = { watch: new HeadWatch(reader, saw), newest: new NewestReceipts(reader), backfills: 0, saw };
    this.#verifier = new Verifier({ db, now, log, stopping: this.#stopping.signal, maxWaitMs, maxReportAgeMs });
    this.#days = new DaySeals({
      db,
      now,
      log,
      firstDay: calendar.first_day,
      held: (signal) => this.held(signal),
      write: (signal, work, catchUp) => this.write(signal, work, catchUp),
      verifier: this.#verifier,
    });
  }

  /**
   * Opens the ledger; the first time it settles the epoch and seals receipt 1.
   * @throws Error when the configured epoch is not the one that the ledger began with; SealingBlocked when receipt 1 may not be
   * sealed
   */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const { db, guard, epoch: configured, signal = never } = options;
    // Where the ledger is settled nothing is written: it opens also while nothing may be.
    const calendar = (await readCalendar(db.reader(signal))) ?? (await settle(options));
    const { epoch } = calendar;
    if (configured !== undefined && configured !== epoch) {
      throw new Error(`STOA_LEDGER_EPOCH is ${configured}, but this ledger began with ${epoch}, which cannot change.`);
    }
    await guard?.begin(signal);
    return new Ledger(options, calendar);
  }

  /** Why the chain does not verify, as far as it is known here; undefined while it does. */
  get alarm(): string | undefined {
    return this.#verifier.alarm.text;
  }

  /** The first receipt that does not verify, as far as it is known here; undefined while the chain does. */
  get failsAt(): number | undefined {
    return this.#verifier.alarm.finding?.seq;
  }

  /** A damaged receipt was read: the whole chain is verified in the background, unless the damage is known. */
  suspect(): void {
    this.#verifier.suspect();
  }

  /** When the chain was last verified as a whole here, or found not to verify; in milliseconds since 1970 (UTC). */
  get verifiedAt(): number | undefined {
    return this.#verifier.verifiedAt;
  }

  /** Reads the alarm anew: another replica may have raised it or taken it back. */
  async readAlarm(db: Queryable): Promise<void> {
    await this.#verifier.alarm.read(db);
  }

  /** The same, after storing an alarm of this replica that could not be stored before. */
  async refreshAlarm(db: Queryable): Promise<void> {
    await this.#verifier.alarm.refresh(db);
  }

  /** Verifies what was sealed since the last receipt that was found good. */
  catchUp(signal: AbortSignal): Promise<Verified> {
    return this.#verifier.catchUp(signal);
  }

  /** The seq of the newest receipt. @throws StoaError `unavailable` where the database has lost it */
  async headSeq(db: Queryable = this.#db.reader(this.#stopping.signal)): Promise<number> {
    return (await this.#readHead(db)).seq;
  }

  /** Ends every stream with `unavailable`, and gives up verifications. */
  stop(): void {
    this.#stopping.abort(new StoaError("unavailable", "The service is stopping.", { retryAfterSeconds: 1 }));
  }

  /** Why nothing may be sealed now; undefined where it may. @throws StoaError `unavailable` when that cannot be told */
  async held(signal: AbortSignal, catchUp = false): Promise<string | undefined> {
    return this.#holds?.reason(signal, catchUp);
  }

  /**
   * Runs one unit of work that seals; its followers hear of it once it is committed.
   * @param catchUp whether an operator has given the word to seal what was missed
   * @throws SealingBlocked where it comes to seal while nothing may be sealed; what needs no new receipt still works
   */
  async write<Reply>(signal: AbortSignal, work: (sealing: Sealing) => Promise<Reply>, catchUp = false): Promise<Reply> {
    // Outside the transaction: a check may read the database, and must not wait for a second connection.
    const hold = await this.held(signal, catchUp);
    const guard = this.#guard;
    const { reply, kept } = await sealWithGuard(
      { db: this.#db, guard, signal },
      (tx) => ({ tx, now: this.#now(), epoch: this.#calendar.epoch, hold, guard }),
      work,
    );
    this.#followers.watch.notify();
    await kept;
    return reply;
  }

  /**
   * @returns the receipt, and whether it may be relied on never to be another
   * @throws StoaError `not_found` beyond the head; `unavailable` for one that is missing from the database
   */
  async get(signal: AbortSignal, seq: number): Promise<ReceiptRow & { isFinal: boolean }> {
    const db = this.#db.reader(signal);
    const row = await findWithGuard(db, this.#guard, seq);
    if (row !== undefined) return row;
    if (seq > (await this.#readHead(db)).seq) throw notFound("There is no receipt of this seq.");
    // It may have been sealed between the two reads.
    const sealed = await findWithGuard(db, this.#guard, seq);
    if (sealed !== undefined) return sealed;
    this.suspect();
    throw missingReceipt(seq);
  }

  /**
   * A page of receipts: up to `limit`, and no more than a reply of about 4 MiB holds, but one at least.
   * @throws StoaError `not_found` beyond the head
   */
  async list(signal: AbortSignal, from: number, limit: number): Promise<ReceiptPage> {
    const db = this.#db.reader(signal);
    const head = await this.#readHead(db);
    if (from > head.seq) throw notFound("There is no receipt of this seq yet.", "from");
    const count = limit === 1 ? 1 : countWithin(await listReceiptLengths(db, from, limit), maxPageBytes);
    const receipts = await listReceipts(db, from, count);
    const last = receipts.at(-1)?.seq ?? head.seq;
    return {
      receipts,
      nextFrom: last < head.seq ? last + 1 : undefined,
      headSeq: head.seq,
      lacksReceipts: receipts.length < last - from + 1,
    };
  }

  /** Receipts in order, followed live where asked; see `streamReceipts`. */
  stream(signal: AbortSignal, query: StreamQuery): AsyncGenerator<ReceiptRow, void> {
    const either = this.#orStopping(signal);
    return streamReceipts(this.#db.longReader(either), this.#followers, query, either);
  }

  /**
   * Verifies the chain from receipt `from` on; 0 and 1 mean the start. What has just been found good is not verified again.
   * @throws StoaError `not_found` beyond the head; `unavailable` when another verification takes too long
   */
  async verify(signal: AbortSignal, from: number): Promise<Report> {
    const head = await this.#readHead(this.#db.reader(signal));
    if (from > Math.max(head.seq, 1)) throw notFound("There is no receipt of this seq yet.", "from");
    return this.#verifier.desk.verify(Math.max(from, 1), head, signal);
  }

  /**
   * Seals one day that is over, by hand; `reply` makes the reply within the unit of work.
   * @throws StoaError `bad_input` for a day that cannot be sealed, `exists` for one that is; SealingBlocked while nothing may be
   * sealed
   */
  async sealDaily<Reply>(signal: AbortSignal, date: string, reply: (receipt: ReceiptRow) => Reply): Promise<Reply> {
    return this.#days.sealDaily(signal, date, reply);
  }

  /**
   * Seals, in order, every day since the first receipt's that is over and not sealed. Of any number of replicas that do
   * this at once, one seals each day.
   * @throws SealingBlocked while nothing may be sealed
   */
  async sealDueDays(signal: AbortSignal): Promise<void> {
    return this.#days.sealDueDays(signal);
  }

  /**
   * Seals, in order, the days up to `through` that were missed, however many: an operator's word. Where the newest receipt's
   * time is ahead of the clock it also says that the clock is right, and sealing goes on at that time.
   * @throws StoaError `bad_input` for a day that is not over; SealingBlocked while something else forbids to seal
   */
  async sealMissed(signal: AbortSignal, through: string): Promise<CaughtUp> {
    return this.#days.sealMissed(signal, through);
  }

  async #readHead(db: Queryable): Promise<Head> {
    const head = await readHead(db);
    this.#guard?.saw(head);
    return head;
  }

  #orStopping(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#stopping.signal]);
  }
}

/** The first time: settles the epoch and seals receipt 1. */
async function settle(options: LedgerOptions): Promise<Calendar> {
  const { db, now, log, holds, guard, epoch: configured, signal = never } = options;
  const hold = await holds?.reason(signal);
  return db.transaction(signal, async (tx) => {
    const time = now();
    const today = dateOf(time);
    const epoch = configured ?? today;
    // Sealing locks the head: of several first starts one settles the calendar, and the others find it.
    const receipt = await sealGenesis({ tx, now: time, epoch, hold, guard });
    const settled = await readCalendar(tx);
    if (settled !== undefined) return settled;
    if (receipt === undefined) throw new Error("The row of ledger_epoch is gone; restore it from a backup.");
    if (epoch > today) throw new Error(`STOA_LEDGER_EPOCH is ${epoch}, a day that has not come yet.`);
    const first = { epoch, first_day: today };
    await insertCalendar(tx, first);
    log.info({ seq: receipt.seq, hash: receipt.hash }, "sealed the first receipt");
    return first;
  });
}

/** How many of the first of these lengths fit together, one at least. */
function countWithin(lengths: readonly number[], max: number): number {
  let sum = 0;
  const count = lengths.findIndex((length) => {
    sum += length;
    return sum > max;
  });
  return count === -1 ? Math.max(lengths.length, 1) : Math.max(count, 1);
}
