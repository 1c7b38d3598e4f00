import { notFound } from "../../errors.ts";
import type { Head } from "../../receipt/recovery.ts";
import { chainStart, type Finding, type Link } from "../../receipt/verify.ts";
import type { Database } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { sleep } from "../../timing/wait.ts";
import { lookAgainMs } from "../late-nodes.ts";
import type { LedgerLog } from "../log.ts";
import { Alarm, type PriorRecord } from "./alarm.ts";
import { verifyInParallel } from "./parallel-verification.ts";
import { startBefore, type Verified, verifyFrom } from "./verification.ts";
import { type Report, VerificationQueue } from "./verification-queue.ts";

/** The faults of a chain whose end is not its head. */
const endFaults: readonly string[] = ["truncated", "beyond_head"];
/** The least time between two verifications that damaged receipts cause, in milliseconds. */
const minSuspicionIntervalMs = 60_000;

export interface VerifierOptions {
  db: Database;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  log: LedgerLog;
  /** Reads the newest receipt. */
  readHead(signal: AbortSignal): Promise<Head>;
  /** Aborts when the service stops. */
  stopping: AbortSignal;
  /** How long a caller waits while another part of the chain is verified, in milliseconds. */
  maxWaitMs?: number | undefined;
  /** How long a good report of a verification is reused, in milliseconds. */
  maxReportAgeMs?: number | undefined;
}

/** Verifies the chain for all callers, and keeps the alarm. */
export class Verifier {
  readonly alarm: Alarm;
  readonly #queue: VerificationQueue;
  readonly #db: Database;
  readonly #now: () => number;
  readonly #log: LedgerLog;
  readonly #readHead: (signal: AbortSignal) => Promise<Head>;
  readonly #stopping: AbortSignal;
  #verifiedAt: number | undefined;
  /** When `suspect` last began a verification, by `performance.now()`. */
  #suspectedAt = Number.NEGATIVE_INFINITY;

  constructor({ db, now, log, readHead, stopping, maxWaitMs, maxReportAgeMs }: VerifierOptions) {
    this.#db = db;
    this.#now = now;
    this.#log = log;
    this.#readHead = readHead;
    this.#stopping = stopping;
    this.alarm = new Alarm(db, now, log);
    this.#queue = new VerificationQueue({
      read: (signal, work) => db.onOneServer(this.#orStopping(signal), work),
      begin: (reader) => this.alarm.refresh(reader),
      verify: (reader, start, signal) => this.after(reader, start, this.#orStopping(signal)),
      record: (verified, isWhole, prior) => this.record(verified, isWhole, prior),
      maxWaitMs,
      maxReportAgeMs,
    });
  }

  /** When this process last verified the whole chain or found a fault in it, in milliseconds since 1970 (UTC). */
  get verifiedAt(): number | undefined {
    return this.#verifiedAt;
  }

  /** The seq of the first receipt that does not verify, as far as this process knows; undefined if it knows of none. */
  get failsAt(): number | undefined {
    return this.alarm.finding?.seq;
  }

  /**
   * Verifies the chain from receipt `from` on; 0 and 1 mean the start. A good report of the last seconds is reused.
   * @throws StoaError `not_found` beyond the head; `unavailable` when another verification takes too long
   */
  async verify(signal: AbortSignal, from: number): Promise<Report> {
    const head = await this.#readHead(signal);
    if (from > Math.max(head.seq, 1)) throw notFound("There is no receipt with this seq yet.", "from");
    return this.#queue.verify(Math.max(from, 1), head, signal);
  }

  /**
   * Verifies the receipts after a good one. If the end of the chain and its head differ on a cluster, one of the two may be
   * on the way from another server: the end is then verified again.
   * @param db reads from one server; see `Database.onOneServer`
   */
  async after(db: Queryable, start: Link, signal: AbortSignal): Promise<Verified> {
    let verified = await verifyInParallel(db, start, {
      signal,
      onFailure: (err) =>
        this.#log.error({ err }, "a verification thread failed; the verification continues without threads"),
    });
    for (const ms of lookAgainMs(this.#db)) {
      if (verified.finding === undefined || !endFaults.includes(verified.finding.fault)) break;
      await sleep(ms, signal);
      const { count } = verified;
      verified = await verifyFrom(db, verified.link);
      verified.count += count;
    }
    return verified;
  }

  /** Verifies the receipts after a good one, on one server. */
  afterOnOneServer(start: Link, signal: AbortSignal): Promise<Verified> {
    const either = this.#orStopping(signal);
    return this.#db.onOneServer(either, (db) => this.after(db, start, either));
  }

  /**
   * Records the result of a verification for the alarm.
   * @param isWhole whether the verification began at the start of the chain
   * @param prior what `alarm.refresh` returned before the verification began
   */
  async record({ finding, link }: Verified, isWhole: boolean, prior: PriorRecord): Promise<void> {
    if (isWhole || finding !== undefined) this.#verifiedAt = this.#now();
    await this.alarm.record({ finding, link, isWhole, prior });
  }

  /**
   * Verifies the receipts after the last one that was recorded as good, and that this one has not changed. If none is
   * recorded, verifies the whole chain.
   */
  async resume(signal: AbortSignal): Promise<Verified> {
    const either = this.#orStopping(signal);
    const { prior, verified } = await this.#db.onOneServer(either, async (db) => {
      const prior = await this.alarm.refresh(db);
      const { verifiedSeq, verifiedHash } = prior;
      const start = verifiedSeq === 0 ? chainStart : await startAt(db, verifiedSeq, verifiedHash);
      return { prior, verified: "fault" in start ? found(start) : await this.after(db, start, either) };
    });
    await this.record(verified, prior.verifiedSeq === 0, prior);
    return verified;
  }

  /**
   * A damaged receipt was read. Verifies the whole chain in the background, unless a fault is already known or this was
   * done in the last minute.
   */
  suspect(): void {
    const now = performance.now();
    if (this.alarm.finding !== undefined || now - this.#suspectedAt < minSuspicionIntervalMs) return;
    this.#suspectedAt = now;
    this.#verifyWhole().catch((err) => {
      if (!this.#stopping.aborted) this.#log.error({ err }, "the ledger could not be verified after a damaged receipt");
    });
  }

  async #verifyWhole(): Promise<void> {
    const prior = await this.alarm.refresh(this.#db.longReader(this.#stopping));
    await this.record(await this.afterOnOneServer(chainStart, this.#stopping), true, prior);
  }

  #orStopping(signal: AbortSignal): AbortSignal {
    return AbortSignal.any([signal, this.#stopping]);
  }
}

/** The receipt that was recorded as good, or how it has changed. */
async function startAt(db: Queryable, seq: number, hash: string): Promise<Link | Finding> {
  const start = await startBefore(db, seq + 1);
  if ("fault" in start || start.hash === hash) return start;
  return { seq, fault: "wrong_hash", message: `its hash is ${start.hash}; it was ${hash} when it was verified last` };
}

function found(finding: Finding): Verified {
  return { link: { seq: finding.seq - 1, hash: "" }, count: 0, finding };
}
