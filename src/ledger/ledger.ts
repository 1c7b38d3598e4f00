import type { Database, DatabaseOptions } from "../store/database/database.ts";
import { type Calendar, readCalendar } from "../store/tables/seals.ts";
import type { HeadGuard } from "./head-guard/head-guard.ts";
import type { LedgerLog } from "./log.ts";
import { ReceiptReader } from "./reading/receipt-reader.ts";
import { DaySealer } from "./sealing/day-sealer.ts";
import { beginLedger } from "./sealing/genesis.ts";
import type { SealChecks } from "./sealing/seal-checks.ts";
import { Sealer } from "./sealing/sealer.ts";
import { Verifier } from "./verification/verifier.ts";

export type { ReceiptRow } from "../store/tables/receipts.ts";

export interface LedgerOptions {
  db: Database;
  /** Where threads that verify connect to the database; by default there are no threads. */
  address?: DatabaseOptions["address"] | undefined;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  log: LedgerLog;
  /** The checks that may block sealing; by default there are none. */
  sealChecks?: SealChecks | undefined;
  /** Remembers the newest receipt outside the database. Its own check must be one of `sealChecks`. */
  guard?: HeadGuard | undefined;
  /** The date that is city_day 1; by default the date of the first start. */
  epoch?: string | undefined;
  /** How long a caller waits while another part of the chain is verified, in milliseconds. */
  maxWaitMs?: number | undefined;
  /** How long a good report of a verification is reused, in milliseconds. */
  maxReportAgeMs?: number | undefined;
  /**
   * Aborts when the service begins to stop: the opening is given up, or every stream ends and verifications are
   * aborted.
   */
  signal?: AbortSignal | undefined;
}

const never = new AbortController().signal;

/** The chain of receipts. */
export class Ledger {
  /** Reads and follows receipts. */
  readonly receipts: ReceiptReader;
  /** Appends receipts. */
  readonly sealer: Sealer;
  /** Seals days that are over. */
  readonly days: DaySealer;
  /** Verifies the chain and keeps its alarm. */
  readonly verifier: Verifier;

  private constructor(options: LedgerOptions, { epoch, first_day: firstDay }: Calendar) {
    const { db, address, now, log, sealChecks, guard, maxWaitMs, maxReportAgeMs, signal: stopping = never } = options;
    const readHead = (signal: AbortSignal) => receipts.readHead(db.reader(signal));
    const verifier = new Verifier({ db, address, now, log, readHead, stopping, maxWaitMs, maxReportAgeMs });
    const receipts = new ReceiptReader({ db, guard, stopping, onMissing: () => verifier.suspect() });
    this.receipts = receipts;
    this.verifier = verifier;
    this.sealer = new Sealer({ db, now, epoch, sealChecks, guard, onCommit: () => receipts.notifyFollowers() });
    this.days = new DaySealer({ db, now, log, firstDay, sealer: this.sealer, verifier });
  }

  /**
   * Opens the ledger. The first start stores the calendar and seals receipt 1.
   * @throws Error when the configured epoch is not the one that the ledger began with; SealingBlocked when receipt 1
   * may not be sealed
   */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const { db, guard, epoch: configured, signal = never } = options;
    // An existing ledger opens without a write, so it also opens while nothing may be written.
    const calendar = (await readCalendar(db.reader(signal))) ?? (await beginLedger({ ...options, signal }));
    const { epoch } = calendar;
    if (configured !== undefined && configured !== epoch) {
      throw new Error(`STOA_LEDGER_EPOCH is ${configured}, but this ledger began with ${epoch}, which cannot change.`);
    }
    await guard?.begin(signal);
    return new Ledger(options, calendar);
  }
}
