import { chainStart, type Finding, type Link } from "../../receipt/verify.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import type { LedgerLog } from "../log.ts";
import { Alarm, type PriorRecord } from "./alarm.ts";
import { verifyInParallel } from "./parallel-verification.ts";
import { startBefore, type Verified } from "./verification.ts";
import { VerificationQueue } from "./verification-queue.ts";

/** How often reads of damaged receipts may have the whole chain verified, in milliseconds. */
const suspicionMs = 60_000;

export interface VerifierOptions {
  db: Database;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  log: LedgerLog;
  /** Aborts when the service stops. */
  stopping: AbortSignal;
  /** How long a caller waits for another verification than the one it asks for, in milliseconds. */
  maxWaitMs?: number | undefined;
  /** How long a good report of a verification is given again, in milliseconds. */
  maxReportAgeMs?: number | undefined;
}

/** Verifies the chain for everybody who asks, and keeps the alarm. */
export class Verifier {
  readonly alarm: Alarm;
  readonly desk: VerificationQueue;
  readonly #db: Database;
  readonly #now: () => number;
  readonly #log: LedgerLog;
  readonly #stopping: AbortSignal;
  #verifiedAt: number | undefined;
  /** When a suspicion was last looked into, by `performance.now()`. */
  #suspectedAt = Number.NEGATIVE_INFINITY;

  constructor({ db, now, log, stopping, maxWaitMs, maxReportAgeMs }: VerifierOptions) {
    this.#db = db;
    this.#now = now;
    this.#log = log;
    this.#stopping = stopping;
    this.alarm = new Alarm(db, now, log);
    this.desk = new VerificationQueue({
      read: (signal) => db.longReader(this.#orStopping(signal)),
      begin: (reader) => this.alarm.refresh(reader),
      verify: (reader, start, signal) => this.after(reader, start, this.#orStopping(signal)),
      tell: (verified, isWhole, prior) => this.note(verified, isWhole, prior),
      maxWaitMs,
      maxReportAgeMs,
    });
  }

  /** When the chain was last verified as a whole here, or found not to verify; in milliseconds since 1970 (UTC). */
  get verifiedAt(): number | undefined {
    return this.#verifiedAt;
  }

  /** Verifies the receipts after a good one. */
  after(db: Queryable, start: Link, signal: AbortSignal): Promise<Verified> {
    return verifyInParallel(db, start, {
      signal,
      onFailure: (err) =>
        this.#log.error({ err }, "a thread that verified the ledger failed; the verification goes on without it"),
    });
  }

  /**
   * Notes what a verification found, for `alarm`.
   * @param isWhole whether it began at the start of the chain
   * @param prior what `alarm.refresh` gave before it began
   */
  async note({ finding, link }: Verified, isWhole: boolean, prior: PriorRecord): Promise<void> {
    if (isWhole || finding !== undefined) this.#verifiedAt = this.#now();
    await this.alarm.note({ finding, link, isWhole, prior });
  }

  /**
   * Verifies what was sealed since the last receipt that was found good, and that this one is what it was. The whole chain
   * where none is known.
   */
  async catchUp(signal: AbortSignal): Promise<Verified> {
    const either = this.#orStopping(signal);
    const db = this.#db.longReader(either);
    const prior = await this.alarm.refresh(db);
    const { verifiedSeq, verifiedHash } = prior;
    const start = verifiedSeq === 0 ? chainStart : await startAt(db, verifiedSeq, verifiedHash);
    const verified = "fault" in start ? found(start) : await this.after(db, start, either);
    await this.note(verified, verifiedSeq === 0, prior);
    return verified;
  }

  /** Verifies the whole chain in the background, unless it is known not to verify; not again for a while. */
  suspect(): void {
    const now = performance.now();
    if (this.alarm.finding !== undefined || now - this.#suspectedAt < suspicionMs) return;
    this.#suspectedAt = now;
    this.#verifyWhole().catch((err) => {
      if (!this.#stopping.aborted) this.#log.error({ err }, "the ledger could not be verified after a damaged receipt");
    });
  }

  async #verifyWhole(): Promise<void> {
    const db = this.#db.longReader(this.#stopping);
    const prior = await this.alarm.refresh(db);
    await this.note(await this.after(db, chainStart, this.#stopping), true, prior);
  }

  #orStopping(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#stopping]);
  }
}

/** The receipt that was found good before, or how it differs. */
async function startAt(db: Queryable, seq: number, hash: string): Promise<Link | Finding> {
  const start = await startBefore(db, seq + 1);
  if ("fault" in start || start.hash === hash) return start;
  return { seq, fault: "wrong_hash", message: `its hash is ${start.hash}; it was ${hash} when it was verified last` };
}

function found(finding: Finding): Verified {
  return { link: { seq: finding.seq - 1, hash: "" }, count: 0, finding };
}
