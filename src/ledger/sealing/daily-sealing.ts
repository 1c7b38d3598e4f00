import { Ticker } from "../../timing/ticker.ts";
import { dateOf } from "../calendar.ts";
import type { Ledger } from "../ledger.ts";
import type { LedgerLog } from "../log.ts";
import { SealingBlocked } from "./seal-checks.ts";

/** How often the clock is read, in milliseconds. */
const tickMs = 1_000;
/** The longest pause after a failure, in milliseconds. Each try verifies the chain before it writes. */
const maxPauseMs = 60_000;

/**
 * Seals each day after its end, and missed days at once, until it is stopped. While sealing is blocked it waits, and
 * logs the reason each time that the reason changes. After a failure it waits longer each time, up to a minute.
 * @param now gives the time in milliseconds since 1970 (UTC)
 */
export function startDailySealing({ sealer, days }: Ledger, now: () => number, log: LedgerLog): Ticker {
  /** The last date on which every due day was found to be sealed. */
  let doneOn = "";
  let loggedReason: string | undefined;
  let failures = 0;
  /** When to try again after a failure, by `performance.now()`. */
  let retryAt = 0;
  const seal = async (signal: AbortSignal) => {
    const today = dateOf(now());
    if (today === doneOn || performance.now() < retryAt) return;
    const reason = await sealer.blockReason(signal);
    if (reason !== loggedReason) {
      if (reason === undefined) log.info({}, "sealing continues");
      else log.error({ reason }, "nothing is sealed");
      loggedReason = reason;
    }
    if (reason !== undefined) return;
    try {
      await days.sealDue(signal);
    } catch (error) {
      // The reason came up after the check. The next tick finds it and logs it.
      if (error instanceof SealingBlocked) return;
      retryAt = performance.now() + Math.min(maxPauseMs, tickMs * 2 ** failures);
      failures += 1;
      throw error;
    }
    failures = 0;
    doneOn = today;
  };
  return new Ticker(tickMs, seal, (err) => log.error({ err }, "the days that are over could not be sealed"));
}
