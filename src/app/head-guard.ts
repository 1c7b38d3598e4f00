import type { Config } from "../config/config.ts";
import { headFolder } from "../ledger/head-guard/head-folder-of.ts";
import { type GuardOptions, HeadGuard } from "../ledger/head-guard/head-guard.ts";
import type { SealChecks } from "../ledger/sealing/seal-checks.ts";
import type { Warnings } from "../warnings.ts";

/** The guard of the ledger's head: it may hold every seal, and has a warning of its own. */
export function createGuard(
  config: Config,
  { holds, warnings, ...options }: Omit<GuardOptions, "folder"> & { holds: SealChecks; warnings: Warnings },
): HeadGuard {
  const guard = new HeadGuard({ ...options, folder: headFolder(config) });
  holds.add(guard.check);
  warnings.add("guard", () => guard.warning);
  return guard;
}
