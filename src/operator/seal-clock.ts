import { ClockGuard } from "../ledger/clock/clock-guard.ts";
import { TrustedClock } from "../ledger/clock/trusted-clock.ts";
import type { SealCheck } from "../ledger/sealing/seal-checks.ts";
import type { Database } from "../store/database/database.ts";

/** The ledger logs for services. A command prints its own lines instead. */
export const silentLog = { info: () => {}, warn: () => {}, error: () => {} };

/**
 * The clock with which a command seals, and the check of it.
 * @param isApproved whether the command is the operator's approval; if not, `check` is told whether there is one
 */
export function sealClock(db: Database, isApproved = false): { clock: TrustedClock; check: SealCheck } {
  const clock = new TrustedClock();
  const guard = new ClockGuard({ db, clock, log: silentLog });
  return { clock, check: (signal, approved) => guard.check(signal, isApproved || approved) };
}
