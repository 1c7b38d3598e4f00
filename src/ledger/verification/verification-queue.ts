import { StoaError } from "../../errors.ts";
import type { Head } from "../../receipt/recovery.ts";
import type { Link } from "../../receipt/verify.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { untilAborted, withTimeout } from "../../timing/wait.ts";
import type { PriorRecord } from "./alarm.ts";
import { startBefore, type Verified } from "./verification.ts";

/** The result of a verification, for a caller. */
export interface Report {
  verifyOk: boolean;
  from: number;
  /** The last receipt that was looked at. */
  to: number;
  /** The number of good receipts, from `from` on. */
  count: number;
  /** The hash of the last good receipt. */
  head: string;
  brokenAt: number | undefined;
  reason: string | undefined;
  durationMs: number;
  /** How long ago the verification ended, in milliseconds; 0 if it ran for this caller. */
  ageMs: number;
}

export interface VerificationQueueOptions {
  /** Runs `work` with a reader of one server, which stops reading when the signal aborts. */
  read<Result>(signal: AbortSignal, work: (db: Queryable) => Promise<Result>): Promise<Result>;
  /** Called before each verification; its result is passed to `record`. */
  begin(db: Queryable): Promise<PriorRecord>;
  /** Verifies the receipts after a good one. */
  verify(db: Queryable, start: Link, signal: AbortSignal): Promise<Verified>;
  /** Called with every finding, and with every good verification of the whole chain. */
  record(verified: Verified, isWhole: boolean, prior: PriorRecord): Promise<void>;
  /** How long a caller waits while another part of the chain is verified, in milliseconds. Default: 30 s. */
  maxWaitMs?: number | undefined;
  /** How long a good report is reused, in milliseconds. Default: 5 s. */
  maxReportAgeMs?: number | undefined;
}

const defaultMaxWaitMs = 30_000;
const defaultMaxReportAgeMs = 5_000;
/** How many good reports are cached; each begins at another receipt. */
const maxCached = 16;

/** A verification that is running. */
interface Run {
  from: number;
  report: Promise<Report>;
  /** How many callers wait for it. */
  callers: number;
  /** Aborts when no caller waits any more. */
  cancelled: AbortController;
}

/**
 * Runs verifications, one at a time. Identical requests share the running verification; others wait for it to end. A
 * good report is reused for some seconds, while the head is unchanged. A report with a fault is never reused.
 */
export class VerificationQueue {
  readonly #options: VerificationQueueOptions;
  #running: Run | undefined;
  /** Good reports by their `from`, the oldest first. `endedAt` is by `performance.now()`. */
  readonly #cached = new Map<number, { report: Report; endedAt: number }>();

  constructor(options: VerificationQueueOptions) {
    this.#options = options;
  }

  /**
   * Verifies the chain from receipt `from` on, which exists, or reuses a good report.
   * @param head the newest receipt, as the caller has read it
   * @throws StoaError `unavailable` when another verification takes too long; the signal's reason
   */
  async verify(from: number, head: Head, signal: AbortSignal): Promise<Report> {
    const known = this.#findCached(from, head);
    if (known !== undefined) return known;
    const end = performance.now() + (this.#options.maxWaitMs ?? defaultMaxWaitMs);
    let run = this.#running;
    while (run !== undefined && (run.from !== from || run.cancelled.signal.aborted)) {
      const ended = run.report.then(
        () => true,
        () => true,
      );
      if (!(await withTimeout(ended, end - performance.now(), signal))) {
        throw new StoaError("unavailable", "Another verification is running; try again later.", {
          retryAfterSeconds: 10,
        });
      }
      run = this.#running;
    }
    run ??= this.#start(from);
    run.callers += 1;
    try {
      return await untilAborted(run.report, signal);
    } finally {
      run.callers -= 1;
      if (run.callers === 0) run.cancelled.abort(new Error("Nobody waits for this verification any more."));
    }
  }

  #start(from: number): Run {
    const cancelled = new AbortController();
    const report = this.#run(from, cancelled.signal)
      .then((made) => this.#cache(made))
      .finally(() => {
        this.#running = undefined;
      });
    // Every caller that waits gets the failure. If none waits, nobody needs it.
    report.catch(() => {});
    this.#running = { from, report, callers: 0, cancelled };
    return this.#running;
  }

  #findCached(from: number, head: Head): Report | undefined {
    const known = this.#cached.get(from);
    if (known === undefined || known.report.to !== head.seq || known.report.head !== head.hash) return undefined;
    const ageMs = performance.now() - known.endedAt;
    return ageMs < (this.#options.maxReportAgeMs ?? defaultMaxReportAgeMs) ? { ...known.report, ageMs } : undefined;
  }

  #cache(report: Report): Report {
    this.#cached.delete(report.from);
    if (!report.verifyOk) return report;
    this.#cached.set(report.from, { report, endedAt: performance.now() });
    for (const oldest of this.#cached.keys()) {
      if (this.#cached.size <= maxCached) break;
      this.#cached.delete(oldest);
    }
    return report;
  }

  async #run(from: number, signal: AbortSignal): Promise<Report> {
    const begun = performance.now();
    const { prior, verified } = await this.#options.read(signal, async (db) => {
      const prior = await this.#options.begin(db);
      const start = await startBefore(db, from);
      const verified: Verified =
        "fault" in start
          ? { link: { seq: from - 1, hash: "" }, count: 0, finding: start }
          : await this.#options.verify(db, start, signal);
      return { prior, verified };
    });
    const { finding, link, count } = verified;
    if (finding !== undefined || from === 1) await this.#options.record(verified, from === 1, prior);
    return {
      verifyOk: finding === undefined,
      from,
      to: finding?.seq ?? link.seq,
      count,
      head: (link as Link).hash,
      brokenAt: finding?.seq,
      reason: finding && `${finding.fault}: ${finding.message}`,
      durationMs: Math.round(performance.now() - begun),
      ageMs: 0,
    };
  }
}
