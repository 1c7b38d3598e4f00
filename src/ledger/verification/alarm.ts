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

/** A verification that begins: what was known of the chain then. */
export type PriorRecord = VerificationRecord;

/** The outcome of a verification that is to be noted. */
export interface Outcome extends Pick<Verified, "finding" | "link"> {
  /** Whether it began at the start of the chain. */
  isWhole: boolean;
  prior: PriorRecord;
}

/**
 * The alarm: the first receipt that does not verify. It stands in the database, so that every replica knows it and a start
 * does not forget it; only a good verification of the whole chain, begun after the last finding, takes it back. The same
 * row holds the newest receipt up to which the chain was found good.
 */
export class Alarm {
  readonly #db: Database;
  readonly #now: () => number;
  readonly #log: LedgerLog;
  #stored: StoredAlarm | undefined;
  /** A finding that could not be stored; the next `refresh` tries again. */
  #unstored: Outcome | undefined;
  /** What `finding` was when it was last logged. */
  #logged: string | undefined;

  /** @param now gives the time in milliseconds since 1970 (UTC) */
  constructor(db: Database, now: () => number, log: LedgerLog) {
    this.#db = db;
    this.#now = now;
    this.#log = log;
  }

  /** The first receipt that does not verify, as far as it is known; undefined while none is. */
  get finding(): { seq: number; fault: string; message: string } | undefined {
    return this.#unstored?.finding ?? this.#stored;
  }

  /** The same for the operator, in a sentence. */
  get text(): string | undefined {
    const { finding } = this;
    return finding && `The ledger does not verify: receipt ${finding.seq}, ${finding.fault}: ${finding.message}.`;
  }

  /**
   * Stores what could not be stored before, where that is possible now, and reads what is stored. To be called before each
   * verification, whose outcome then names it.
   */
  async refresh(db: Queryable): Promise<PriorRecord> {
    const unstored = this.#unstored;
    if (unstored !== undefined) await this.#store(unstored);
    return this.read(db);
  }

  /** Reads what is stored, by this or any replica; it writes nothing, and so waits for no lock. */
  async read(db: Queryable): Promise<PriorRecord> {
    const record = await readVerification(db);
    this.#show(record.alarm);
    return record;
  }

  /**
   * Notes what a verification found; a finding raises the alarm. Where it cannot be stored, it counts in this process until
   * it can.
   */
  async note(outcome: Outcome): Promise<void> {
    const { finding, link, prior } = outcome;
    if (finding === undefined) {
      // Most verifications change nothing, and write nothing.
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
        const after = afterwards(before, outcome, this.#now());
        await putVerification(tx, after);
        return after;
      });
      if (this.#unstored === outcome) this.#unstored = undefined;
      this.#show(record.alarm);
    } catch (err) {
      this.#log.error({ err }, "what a verification of the ledger found could not be stored");
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

/** What is known after a verification, by the rules that `Alarm` states. */
function afterwards(before: VerificationRecord, outcome: Outcome, now: number): VerificationRecord {
  const { finding, link, isWhole, prior } = outcome;
  if (finding === undefined) {
    const takesBack = isWhole && before.round === prior.round;
    const alarm = takesBack ? undefined : before.alarm;
    // A finding may have come in between.
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
    // Nothing that was found good before counts any more where the finding lies below it.
    ...(finding.seq <= before.verifiedSeq ? { verifiedSeq: 0, verifiedHash: "0".repeat(64), verifiedAt: 0 } : {}),
  };
}

function verifiedUpTo({ seq, hash }: Link, now: number) {
  return { verifiedSeq: seq, verifiedHash: hash, verifiedAt: now };
}
