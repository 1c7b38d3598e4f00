import { ClockGuard } from "../ledger/clock/clock-guard.ts";
import { clocksOf, TrustedClock } from "../ledger/clock/trusted-clock.ts";
import type { GaugeSource } from "../metrics/metrics.ts";
import type { Database } from "../store/database/database.ts";
import type { Startup } from "./startup.ts";

/** The clocks of the service, in milliseconds since 1970 (UTC). */
export interface ServiceTimes {
  now: () => number;
  /** For measuring durations: it never jumps. */
  even: () => number;
  /** For expiry: 0 while the clock is in doubt, except after a jump. With 0, nothing expires. */
  expiryNow: () => number;
  gauges: GaugeSource[];
}

/**
 * Compares the clocks, now and regularly until the service stops. While the clock is in doubt, nothing is sealed and
 * the operator is warned.
 * @throws StoaError `unavailable` when the database cannot be read
 */
export async function startClock(
  { overrides, log, shutdown, warnings, sealChecks }: Omit<Startup, "config">,
  db: Database,
): Promise<ServiceTimes> {
  const { now, clocks, databaseNow } = overrides;
  const clock = new TrustedClock(clocks ?? (now && clocksOf(now)));
  const guard = new ClockGuard({ db, clock, log, databaseNow: databaseNow ?? clocks?.wall ?? now });
  sealChecks.add((signal, isApproved) => guard.check(signal, isApproved));
  warnings.add("clock", () => guard.doubt);
  warnings.add("clock_difference", () => guard.difference);
  // The first check comes before anything is sealed, swept or served.
  await guard.check(new AbortController().signal);
  const watch = guard.watch();
  shutdown.push(() => watch.stop(), "the clock watch");
  const difference: GaugeSource = {
    name: "stoa_clock_difference_seconds",
    help: "By how much the clock of this machine is ahead of the database's, or behind if negative.",
    read: () => guard.aheadMs / 1000,
  };
  return { now: clock.now, even: clock.steadyNow, expiryNow: guard.expiryNow, gauges: [difference] };
}
