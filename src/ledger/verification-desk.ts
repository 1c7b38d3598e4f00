import { StoaError } from "../errors.ts";
import type { Link } from "../receipt/verify.ts";
import type { Queryable } from "../store/database.ts";
import { startBefore, type Verified, verifyFrom } from "./verification.ts";

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
}

/** How long a caller waits for a verification of another part of the chain, in milliseconds. */
const mostWaitMs = 30_000;

/** Verifications, one at a time: a second caller joins the one that runs, or waits for its turn. */
export class VerificationDesk {
  readonly #db: Queryable;
  readonly #tell: (verified: Verified) => void;
  #running: { from: number; report: Promise<Report> } | undefined;

  /** `tell` hears of every finding, and of good verifications of the whole chain. */
  constructor(db: Queryable, tell: (verified: Verified) => void) {
    this.#db = db;
    this.#tell = tell;
  }

  /**
   * Verifies from receipt `from` on, which exists.
   * @throws StoaError `unavailable` when the turn does not come in time; the signal's reason
   */
  async verify(from: number, signal: AbortSignal): Promise<Report> {
    const end = performance.now() + mostWaitMs;
    while (this.#running !== undefined && this.#running.from !== from) {
      const turn = this.#running.report.then(
        () => true,
        () => true,
      );
      if (!(await within(turn, end - performance.now(), signal))) {
        throw new StoaError("unavailable", "Another verification is running; try again later.", {
          retryAfterSeconds: 10,
        });
      }
    }
    this.#running ??= this.#start(from);
    return within(this.#running.report, undefined, signal) as Promise<Report>;
  }

  #start(from: number): { from: number; report: Promise<Report> } {
    const report = this.#run(from).finally(() => {
      this.#running = undefined;
    });
    // Whoever waits hears of a failure; where nobody does any more, nobody needs to.
    report.catch(() => {});
    return { from, report };
  }

  async #run(from: number): Promise<Report> {
    const begun = performance.now();
    const start = await startBefore(this.#db, from);
    const verified: Verified =
      "fault" in start
        ? { link: { seq: from - 1, hash: "" }, count: 0, finding: start }
        : await verifyFrom(this.#db, start);
    const { finding, link, count } = verified;
    if (finding !== undefined || from === 1) this.#tell(verified);
    return {
      verifyOk: finding === undefined,
      from,
      to: finding?.seq ?? link.seq,
      count,
      head: (link as Link).hash,
      brokenAt: finding?.seq,
      reason: finding && `${finding.fault}: ${finding.message}`,
      durationMs: Math.round(performance.now() - begun),
    };
  }
}

/** The promise's value, or undefined after `ms` (undefined: however long it takes). @throws the signal's reason */
async function within<T>(promise: Promise<T>, ms: number | undefined, signal: AbortSignal): Promise<T | undefined> {
  signal.throwIfAborted();
  const { promise: ended, resolve, reject } = Promise.withResolvers<undefined>();
  const abort = () => reject(signal.reason);
  const timer = ms === undefined ? undefined : setTimeout(() => resolve(undefined), Math.max(ms, 0));
  signal.addEventListener("abort", abort, { once: true });
  try {
    return await Promise.race([promise, ended]);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", abort);
  }
}
