import { StoaError } from "../../errors.ts";
import type { Head } from "../../receipt/recovery.ts";
import { untilAborted, withTimeout } from "../../timing/wait.ts";

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

export interface ReportOptions {
  /** Verifies the chain from receipt `from` on, until the signal aborts. */
  run(from: number, signal: AbortSignal): Promise<Report>;
  /** How long a caller waits while another part of the chain is verified, in milliseconds. Default: 30 s. */
  maxWaitMs?: number | undefined;
  /** How long a good report is reused, in milliseconds. Default: 5 s. */
  maxReportAgeMs?: number | undefined;
}

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
 * good report is reused for some seconds while the head is unchanged, also for every later part of the chain. A report with a
 * fault is never reused.
 */
export class Reports {
  readonly #run: ReportOptions["run"];
  readonly #maxWaitMs: number;
  readonly #maxReportAgeMs: number;
  #running: Run | undefined;
  /** The last good report. `endedAt` is by `performance.now()`. */
  #last: { report: Report; endedAt: number } | undefined;

  constructor({ run, maxWaitMs = 30_000, maxReportAgeMs = 5_000 }: ReportOptions) {
    this.#run = run;
    this.#maxWaitMs = maxWaitMs;
    this.#maxReportAgeMs = maxReportAgeMs;
  }

  /**
   * Verifies the chain from receipt `from` on, which exists, or reuses a good report.
   * @param head the newest receipt, as the caller has read it
   * @throws StoaError `unavailable` when another verification takes too long; the signal's reason
   */
  async get(from: number, head: Head, signal: AbortSignal): Promise<Report> {
    const end = performance.now() + this.#maxWaitMs;
    for (;;) {
      const known = this.#reuse(from, head);
      if (known !== undefined) return known;
      const run = this.#running ?? this.#start(from);
      if (run.from === from && !run.cancelled.signal.aborted) return await join(run, signal);
      const ended = run.report.then(
        () => true,
        () => true,
      );
      if (!(await withTimeout(ended, end - performance.now(), signal))) {
        const message = "Another verification is running; try again later.";
        throw new StoaError("unavailable", message, { retryAfterSeconds: 10 });
      }
    }
  }

  #start(from: number): Run {
    const cancelled = new AbortController();
    const report = this.#run(from, cancelled.signal)
      .then((made) => {
        if (made.verifyOk) this.#last = { report: made, endedAt: performance.now() };
        return made;
      })
      .finally(() => {
        this.#running = undefined;
      });
    // Every caller that waits gets the failure. If none waits, nobody needs it.
    report.catch(() => {});
    this.#running = { from, report, callers: 0, cancelled };
    return this.#running;
  }

  #reuse(from: number, head: Head): Report | undefined {
    if (this.#last === undefined) return undefined;
    const { report, endedAt } = this.#last;
    const ageMs = performance.now() - endedAt;
    if (from < report.from || report.to !== head.seq || report.head !== head.hash) return undefined;
    return ageMs < this.#maxReportAgeMs ? { ...report, from, count: report.to - from + 1, ageMs } : undefined;
  }
}

/** Waits for a run as one of its callers. When the last of them leaves, it ends. */
async function join(run: Run, signal: AbortSignal): Promise<Report> {
  run.callers += 1;
  try {
    return await untilAborted(run.report, signal);
  } finally {
    run.callers -= 1;
    if (run.callers === 0) run.cancelled.abort(new Error("Nobody waits for this verification any more."));
  }
}
