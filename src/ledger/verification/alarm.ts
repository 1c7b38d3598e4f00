import { zeroHash } from "../../receipt/document.ts";
import type { Link } from "../../receipt/verify.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import {
  lockVerification,
  putVerification,
  readVerification,
  type StoredAlarm,
  type VerificationRecord,
} from "../../store/tables/verifications.ts";
import type { LedgerLog } from "../log.ts";
import type { Verified } from "./verification.ts";

/** What was recorded about the chain when a verification began. */
export type PriorRecord = VerificationRecord;

/** The result of a verification, to be recorded. */
export interface Outcome extends Pick<Verified, "finding" | "link"> {
  /** Whether the verification began at the start of the chain. */
  isWhole: boolean;
  prior: PriorRecord;
}

/**
 * The alarm: the first receipt that does not verify. The database stores it, so that every replica knows it and it
 * survives a restart. Only a successful verification of the whole chain that began after the last finding clears it.
 * The same row stores the newest receipt up to which the chain was found good.
 */
export class Alarm {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #log: LedgerLog;
  #stored: StoredAlarm | undefined;
  /** A finding that could not be stored. The next `refresh` tries again. */
  #unstored: Outcome | undefined;
  /** The finding that was logged last. */
  #logged: string | undefined;

  /** @param now gives the time in milliseconds since 1970 (UTC) */
  constructor(db: Database, now: () => number, log: LedgerLog) {
    this.#db = db;
    this.#now = now;
    this.#log = log;
  }

  /** The first receipt that does not verify, as far as this process knows; undefined if it knows of none. */
  get finding(): { seq: number; fault: string; message: string } | undefined {
    return this.#unstored?.finding ?? this.#stored;
  }

  /** The finding as a sentence for the operator; undefined if there is none. */
  get text(): string | undefined {
    const { finding } = this;
    return finding && `The ledger does not verify: receipt ${finding.seq}, ${finding.fault}: ${finding.message}.`;
  }

  /**
   * Tries again to store a finding that could not be stored, then reads the stored record. Call this before each
   * verification and pass the result to `record`.
   */
  async refresh(db: Queryable): Promise<PriorRecord> {
    const unstored = this.#unstored;
    if (unstored !== undefined) await this.#store(unstored);
    return this.read(db);
  }

  /** Reads the record that any replica has stored. This writes nothing, and so waits for no lock. */
  async read(db: Queryable): Promise<PriorRecord> {
    const record = await readVerification(db);
    this.#show(record.alarm);
    return record;
  }

  /**
   * Records the result of a verification. A finding raises the alarm. If it cannot be stored, the alarm is raised in
   * this process only, until it can.
   */
  async record(outcome: Outcome): Promise<void> {
    const { finding, link, prior } = outcome;
    if (finding === undefined) {
      // Most verifications change nothing, and so write nothing.
      if (prior.alarm !== undefined || prior.verifiedSeq < link.seq) await this.#store(outcome);
      return;
    }
    this.#unstored = outcome;
    this.#logged = keyOf(finding);
    this.#log.error({ seq: finding.seq, fault: finding.fault, lastGood: link.seq }, this.text as string);
    await this.#store(outcome);
  }

  async #store(outcome: Outcome): Promise<void> {
    try {
      const record = await this.#db.priority.transaction(new AbortController().signal, async (tx) => {
        const before = await lockVerification(tx);
        const after = updated(before, outcome, this.#now());
        await putVerification(tx, after);
        return after;
      });
      if (this.#unstored === outcome) this.#unstored = undefined;
      this.#show(record.alarm);
    } catch (err) {
      this.#log.error({ err }, "the result of a verification could not be stored");
    }
  }

  #show(alarm: StoredAlarm | undefined): void {
    this.#stored = alarm;
    const { finding, text } = this;
    const key = finding && keyOf(finding);
    if (key === this.#logged) return;
    this.#logged = key;
    if (finding === undefined) this.#log.info({}, "the ledger verifies again");
    else this.#log.error({ seq: finding.seq, fault: finding.fault, foundAt: alarm?.foundAt }, text as string);
  }
}

function keyOf({ seq, fault }: { seq: number; fault: string }): string {
  return `${seq} ${fault}`;
}

/** The record after a verification, by the rules of `Alarm`. */
function updated(before: VerificationRecord, outcome: Outcome, now: number): VerificationRecord {
  const { finding, link, isWhole, prior } = outcome;
  if (finding === undefined) {
    const clears = isWhole && before.round === prior.round;
    const alarm = clears ? undefined : before.alarm;
    // Another verification may have found a fault in between.
    return before.round === prior.round && link.seq > before.verifiedSeq
      ? { ...before, alarm, ...verifiedUpTo(link, now) }
      : { ...before, alarm };
  }
  const known = before.alarm;
  const isFirst = known === undefined || isWhole || finding.seq <= known.seq;
  const foundAt = known?.foundAt ?? now;
  return {
    ...before,
    round: before.round + 1,
    alarm: isFirst ? { ...finding, foundAt } : known,
    // If the finding lies below the verified receipt, that receipt no longer counts as good.
    ...(finding.seq <= before.verifiedSeq ? { verifiedSeq: 0, verifiedHash: zeroHash, verifiedAt: 0 } : {}),
  };
}

function verifiedUpTo({ seq, hash }: Link, now: number) {
  return { verifiedSeq: seq, verifiedHash: hash, verifiedAt: now };
}
