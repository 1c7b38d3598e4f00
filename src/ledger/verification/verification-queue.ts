import { StoaError } from "../../errors.ts";
import type { Link } from "../../receipt/verify.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { untilAborted, withTimeout } from "../../timing/wait.ts";
import type { PriorRecord } from "./alarm.ts";
import { startBefore, type Verified } from "./verification.ts";

/** What a verification found. */
export interface Report {
  verifyOk: boolean;
  from: number;
  /** The last receipt that was looked at. */
  to: number;
  /** How many receipts were found good, from `from` on. */
  count: number;
  /** The hash of the last good one. */
  head: string;
  brokenAt: number | undefined;
  reason: string | undefined;
  durationMs: number;
  /** How long ago it ended, in milliseconds: 0 where it ended for this caller. */
  ageMs: number;
}

export interface VerificationQueueOptions {
  /** A reader that reads no more once the signal has aborted. */
  read(signal: AbortSignal): Queryable;
  /** Called before each verification; `tell` gets what it gives. */
  begin(db: Queryable): Promise<PriorRecord>;
  /** Verifies the receipts after a good one. */
  verify(db: Queryable, start: Link, signal: AbortSignal): Promise<Verified>;
  /** Hears of every finding, and of good verifications of the whole chain. */
  tell(verified: Verified, isWhole: boolean, prior: PriorRecord): Promise<void>;
  /** How long a caller waits for a verification of another part of the chain, in milliseconds. */
  maxWaitMs?: number | undefined;
  /** How long a good report is given again, in milliseconds. Default: 5 s. */
  maxReportAgeMs?: number | undefined;
}

/** The newest receipt, as the caller sees it. */
type Head = Pick<Link, "seq" | "hash">;

/** How many good reports are remembered; each begins at another receipt. */
const maxRemembered = 16;

/** A verification that is under way, and who waits for it. */
interface Run {
  from: number;
  report: Promise<Report>;
  callers: number;
  /** Aborted when nobody waits any more. */
  leaving: AbortController;
}

/**
 * Verifications, one at a time: a second caller joins the one that runs, or waits for its turn. A good report is given again
 * for some seconds, while the head is the one that it ended with; one that found a fault is not.
 */
export class VerificationQueue {
  readonly #options: VerificationQueueOptions;
  #running: Run | undefined;
  /** Good reports by their `from`, with the time on the monotonic clock when they ended; the oldest first. */
  readonly #remembered = new Map<number, { report: Report; endedAt: number }>();

  constructor(options: VerificationQueueOptions) {
    this.#options = options;
  }

  /**
   * Verifies from receipt `from` on, which exists, or gives a good report of just now.
   * @throws StoaError `unavailable` when the turn does not come in time; the signal's reason
   */
  async verify(from: number, head: Head, signal: AbortSignal): Promise<Report> {
    const known = this.#recall(from, head);
    if (known !== undefined) return known;
    const end = performance.now() + (this.#options.maxWaitMs ?? 30_000);
    let run = this.#running;
    while (run !== undefined && (run.from !== from || run.leaving.signal.aborted)) {
      const turn = run.report.then(
        () => true,
        () => true,
      );
      if (!(await withTimeout(turn, end - performance.now(), signal))) {
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
      if (run.callers === 0) run.leaving.abort(new Error("Nobody waits for this verification any more."));
    }
  }

  #start(from: number): Run {
    const leaving = new AbortController();
    const report = this.#run(from, leaving.signal)
      .then((made) => this.#remember(made))
      .finally(() => {
        this.#running = undefined;
      });
    // Whoever waits hears of a failure; where nobody does any more, nobody needs to.
    report.catch(() => {});
    this.#running = { from, report, callers: 0, leaving };
    return this.#running;
  }

  #recall(from: number, head: Head): Report | undefined {
    const known = this.#remembered.get(from);
    if (known === undefined || known.report.to !== head.seq || known.report.head !== head.hash) return undefined;
    const ageMs = performance.now() - known.endedAt;
    return ageMs < (this.#options.maxReportAgeMs ?? 5_000) ? { ...known.report, ageMs } : undefined;
  }

  #remember(report: Report): Report {
    this.#remembered.delete(report.from);
    if (!report.verifyOk) return report;
    this.#remembered.set(report.from, { report, endedAt: performance.now() });
    for (const oldest of this.#remembered.keys()) {
      if (this.#remembered.size <= maxRemembered) break;
      this.#remembered.delete(oldest);
    }
    return report;
  }

  async #run(from: number, signal: AbortSignal): Promise<Report> {
    const begun = performance.now();
    const db = this.#options.read(signal);
    const prior = await this.#options.begin(db);
    const start = await startBefore(db, from);
    const verified: Verified =
      "fault" in start
        ? { link: { seq: from - 1, hash: "" }, count: 0, finding: start }
        : await this.#options.verify(db, start, signal);
    const { finding, link, count } = verified;
    if (finding !== undefined || from === 1) await this.#options.tell(verified, from === 1, prior);
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
