import { dateOf } from "./chain.ts";
import type { Ledger, LedgerLog } from "./ledger.ts";

/** How often the clock is looked at, in milliseconds. */
const tickMs = 1_000;

/** Seals each day after its end, and at its start what was missed. */
export class DailyClock {
  readonly #ledger: Ledger;
  readonly #now: () => number;
  readonly #log: LedgerLog;
  readonly #stopping = new AbortController();
  readonly #timer: NodeJS.Timeout;
  /** The day on which everything due was last seen to be sealed. */
  #settled = "";
  #running: Promise<void> | undefined;

  /** `now` gives the time in milliseconds since 1970 (UTC). */
  constructor(ledger: Ledger, now: () => number, log: LedgerLog) {
    this.#ledger = ledger;
    this.#now = now;
    this.#log = log;
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#tick();
  }

  /** Resolves when no sealing is under way any more. */
  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort(new Error("the service is stopping"));
    await this.#running;
  }

  #tick(): void {
    const today = dateOf(this.#now());
    if (this.#running !== undefined || today === this.#settled) return;
    this.#running = this.#ledger
      .sealDueDays(this.#stopping.signal)
      .then(() => {
        this.#settled = today;
      })
      .catch((err) => {
        // The next tick tries again.
        if (!this.#stopping.signal.aborted) this.#log.error({ err }, "the days that are over could not be sealed");
      })
      .finally(() => {
        this.#running = undefined;
      });
  }
}
