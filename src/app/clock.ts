import type { FastifyBaseLogger } from "fastify";
import { ClockGuard } from "../ledger/clock/clock-guard.ts";
import { clocksOf, TrustedClock } from "../ledger/clock/trusted-clock.ts";
import type { SealChecks } from "../ledger/sealing/seal-checks.ts";
import type { Database } from "../store/database/database.ts";
import type { Warnings } from "../warnings.ts";
import type { Overrides } from "./overrides.ts";
import type { CleanUp } from "./shutdown.ts";

/** The times that the service goes by, each in milliseconds since 1970 (UTC). */
export interface ServiceTimes {
  now: () => number;
  /** For spans: never set. */
  even: () => number;
  /** For what expires: 0 while the clock is in doubt. */
  expiryNow: () => number;
}

/**
 * Compares the clocks, and goes on with it until it is stopped by `cleanUp`. A clock in doubt blocks sealing and causes a
 * warning.
 * @throws StoaError `unavailable` when the database cannot be asked
 */
export async function startClock(
  { now, clocks, databaseNow }: Overrides,
  db: Database,
  log: FastifyBaseLogger,
  { sealChecks, warnings, cleanUp }: { sealChecks: SealChecks; warnings: Warnings; cleanUp: CleanUp },
): Promise<ServiceTimes> {
  const clock = new TrustedClock(clocks ?? (now && clocksOf(now)));
  const guard = new ClockGuard({ db, clock, log, databaseNow: databaseNow ?? clocks?.wall ?? now });
  sealChecks.add((signal, isApproved) => guard.check(signal, isApproved));
  warnings.add("clock", () => guard.doubt);
  // Before anything is sealed, swept or served.
  await guard.check(new AbortController().signal);
  const watch = guard.watch();
  cleanUp.push(() => watch.stop(), "the watch over the clock");
  return { now: clock.now, even: clock.steadyNow, expiryNow: guard.expiryNow };
}
