import { notFound } from "../../errors.ts";
import type { Head } from "../../receipt/recovery.ts";
import type { Finding, Link } from "../../receipt/verify.ts";
import type { Database, DatabaseOptions } from "../../store/database/database.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { sleep } from "../../timing/wait.ts";
import { lookAgainMs } from "../late-nodes.ts";
import type { LedgerLog } from "../log.ts";
import { Alarm, type PriorRecord } from "./alarm.ts";
import { type Report, type ReportOptions, Reports } from "./reports.ts";
import { verifyInThreads } from "./threads.ts";
import { startBefore, type Verified, verifyFrom } from "./verification.ts";

/** The faults of a chain that does not end at its head. */
const endFaults: readonly string[] = ["truncated", "beyond_head"];
/** The least time between two verifications that damaged receipts cause, in milliseconds. */
const minSuspicionIntervalMs = 60_000;

export interface VerifierOptions extends Pick<ReportOptions, "maxWaitMs" | "maxReportAgeMs"> {
  db: Database;
  /** Where threads connect to the database. Without it this thread verifies, however long the chain is. */
  address?: DatabaseOptions["address"] | undefined;
  /** The time in milliseconds since 1970 (UTC). */
  now: () => number;
  log: LedgerLog;
  /** Reads the newest receipt. */
  readHead(signal: AbortSignal): Promise<Head>;
  /** Aborts when the service stops. */
  stopping: AbortSignal;
}

/** Verifies the chain for all callers, and keeps the alarm. */
export class Verifier {
  readonly alarm: Alarm;
  readonly #reports: Reports;
  readonly #options: VerifierOptions;
  #verifiedAt: number | undefined;
  /** When `suspect` last began a verification, by `performance.now()`. */
  #suspectedAt = Number.NEGATIVE_INFINITY;

  constructor(options: VerifierOptions) {
    const { db, now, log, maxWaitMs, maxReportAgeMs } = options;
    this.#options = options;
    this.alarm = new Alarm(db, now, log);
    this.#reports = new Reports({ run: (from, signal) => this.#report(from, signal), maxWaitMs, maxReportAgeMs });
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
    const head = await this.#options.readHead(signal);
    if (from > Math.max(head.seq, 1)) throw notFound("There is no receipt with this seq yet.", "from");
    return this.#reports.get(Math.max(from, 1), head, signal);
  }

  /**
   * Runs a verification and records its result.
   * @param from the first receipt. By default it follows the last receipt that was recorded as good, which must not have
   * changed. If none is recorded, the whole chain is verified
   */
  async run(signal: AbortSignal, from?: number): Promise<Verified> {
    const { db, stopping } = this.#options;
    const either = AbortSignal.any([signal, stopping]);
    const { prior, verified } = await db.onOneServer(either, async (reader) => {
      const prior = await this.alarm.refresh(reader);
      const start = await (from === undefined ? startAfterRecorded(reader, prior) : startBefore(reader, from));
      const verified: Verified =
        "fault" in start
          ? { link: { seq: start.seq - 1, hash: "" }, count: 0, finding: start }
          : await this.#verifyAfter(reader, start, either);
      return { prior, verified };
    });
    const isWhole = (from ?? prior.verifiedSeq + 1) === 1;
    // The receipts before a later `from` may be bad, so those after it are not recorded as good.
    if (verified.finding !== undefined || isWhole || from === undefined) await this.record(verified, isWhole, prior);
    return verified;
  }

  /**
   * A damaged receipt was read. Verifies the whole chain in the background, unless a fault is already known or this was
   * done in the last minute.
   */
  suspect(): void {
    const { stopping, log } = this.#options;
    const now = performance.now();
    if (this.alarm.finding !== undefined || now - this.#suspectedAt < minSuspicionIntervalMs) return;
    this.#suspectedAt = now;
    this.run(stopping, 1).catch((err) => {
      if (!stopping.aborted) log.error({ err }, "the ledger could not be verified after a damaged receipt");
    });
  }

  /** Verifies the receipts after a good one, on one server of a cluster. */
  afterOnOneServer(start: Link, signal: AbortSignal): Promise<Verified> {
    const { db, stopping } = this.#options;
    const either = AbortSignal.any([signal, stopping]);
    return db.onOneServer(either, (reader) => this.#verifyAfter(reader, start, either));
  }

  /**
   * Records the result of a verification for the alarm.
   * @param isWhole whether the verification began at the start of the chain
   * @param prior what `alarm.refresh` returned before the verification began
   */
  async record({ finding, link }: Verified, isWhole: boolean, prior: PriorRecord): Promise<void> {
    if (isWhole || finding !== undefined) this.#verifiedAt = this.#options.now();
    await this.alarm.record({ finding, link, isWhole, prior });
  }

  async #report(from: number, signal: AbortSignal): Promise<Report> {
    const begun = performance.now();
    const { finding, link, count } = await this.run(signal, from);
    return {
      verifyOk: finding === undefined,
      from,
      to: finding?.seq ?? link.seq,
      count,
      head: link.hash,
      brokenAt: finding?.seq,
      reason: finding && `${finding.fault}: ${finding.message}`,
      durationMs: Math.round(performance.now() - begun),
      ageMs: 0,
    };
  }

  /**
   * Verifies the receipts after a good one. If the end of the chain and its head differ on a cluster, one of the two may not
   * have arrived from another server yet: the end is then verified again.
   * @param reader reads from one server; see `Database.onOneServer`
   */
  async #verifyAfter(reader: Queryable, start: Link, signal: AbortSignal): Promise<Verified> {
    const { db, address, log } = this.#options;
    const onFailure = (err: unknown) =>
      log.error({ err }, "a verification thread failed; the verification continues without threads");
    let verified = await verifyInThreads(reader, start, { address, signal, onFailure });
    for (const ms of lookAgainMs(db)) {
      if (verified.finding === undefined || !endFaults.includes(verified.finding.fault)) break;
      await sleep(ms, signal);
      const { count } = verified;
      verified = await verifyFrom(reader, verified.link);
      verified.count += count;
    }
    return verified;
  }
}

/** The receipt that was recorded as good, or the finding that it has changed. */
async function startAfterRecorded(db: Queryable, { verifiedSeq: seq, verifiedHash }: PriorRecord) {
  const start = await startBefore(db, seq + 1);
  if ("fault" in start || seq === 0 || start.hash === verifiedHash) return start;
  const message = `its hash is ${start.hash}; it was ${verifiedHash} when it was verified last`;
  return { seq, fault: "wrong_hash", message } satisfies Finding;
}
