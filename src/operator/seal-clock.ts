import { ClockGuard } from "../ledger/clock/clock-guard.ts";
import { TrustedClock } from "../ledger/clock/trusted-clock.ts";
import type { SealCheck } from "../ledger/sealing/seal-checks.ts";
import type { Database } from "../store/database/database.ts";

/** The logs of the ledger are for services. Commands report by lines of their own. */
export const silentLog = { info: () => {}, warn: () => {}, error: () => {} };

/**
 * The clock with which a command seals.
 * @param isApproved whether the command itself is the operator's approval; otherwise sealing says so
 */
export function sealClock(db: Database, isApproved = false): { clock: TrustedClock; check: SealCheck } {
  const clock = new TrustedClock();
  const guard = new ClockGuard({ db, clock, log: silentLog });
  return { clock, check: (signal, approved) => guard.check(signal, isApproved || approved) };
}
