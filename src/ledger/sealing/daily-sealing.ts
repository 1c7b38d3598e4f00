import { Ticker } from "../../timing/ticker.ts";
import type { Ledger } from "../ledger.ts";
import type { LedgerLog } from "../log.ts";
import { dateOf } from "./append.ts";
import { SealingBlocked } from "./seal-checks.ts";

/** How often the clock is looked at, in milliseconds. */
const tickMs = 1_000;

/**
 * Seals each day after its end, and at once what was missed, until it is stopped. While nothing may be sealed it waits,
 * and logs why each time the reason changes.
 * @param now gives the time in milliseconds since 1970 (UTC)
 */
export function startDailySealing(ledger: Ledger, now: () => number, log: LedgerLog): Ticker {
  /** The day on which everything due was last seen to be sealed. */
  let settled = "";
  /** Why nothing could be sealed, as it was logged last. */
  let logged: string | undefined;
  const seal = async (signal: AbortSignal) => {
    const today = dateOf(now());
    if (today === settled) return;
    const hold = await ledger.held(signal);
    if (hold !== logged) {
      if (hold === undefined) log.info({}, "sealing goes on");
      else log.error({ reason: hold }, "nothing is sealed");
      logged = hold;
    }
    if (hold !== undefined) return;
    try {
      await ledger.sealDueDays(signal);
    } catch (error) {
      // A reason that came up meanwhile: the next tick looks again, and logs it.
      if (error instanceof SealingBlocked) return;
      throw error;
    }
    settled = today;
  };
  return new Ticker(tickMs, seal, (err) => log.error({ err }, "the days that are over could not be sealed"));
}
