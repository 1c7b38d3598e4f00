import { Ticker } from "../ticker.ts";
import { dateOf } from "./chain.ts";
import type { Ledger, LedgerLog } from "./ledger.ts";

/** How often the clock is looked at, in milliseconds. */
const tickMs = 1_000;

/**
 * Seals each day after its end, and at once what was missed, until it is stopped.
 * @param now gives the time in milliseconds since 1970 (UTC)
 */
export function startDailyClock(ledger: Ledger, now: () => number, log: LedgerLog): Ticker {
  /** The day on which everything due was last seen to be sealed. */
  let settled = "";
  const seal = async (signal: AbortSignal) => {
    const today = dateOf(now());
    if (today === settled) return;
    await ledger.sealDueDays(signal);
    settled = today;
  };
  return new Ticker(tickMs, seal, (err) => log.error({ err }, "the days that are over could not be sealed"));
}
