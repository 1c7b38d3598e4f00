import type { Config } from "../config/config.ts";
import { headFolder } from "../ledger/head-guard/head-folder.ts";
import { type GuardOptions, HeadGuard } from "../ledger/head-guard/head-guard.ts";
import type { SealChecks } from "../ledger/sealing/seal-checks.ts";
import type { Warnings } from "../warnings.ts";

/** The guard of the ledger's head: it may block sealing, and has a warning of its own. */
export function createGuard(
  config: Config,
  { sealChecks, warnings, ...options }: Omit<GuardOptions, "folder"> & { sealChecks: SealChecks; warnings: Warnings },
): HeadGuard {
  const guard = new HeadGuard({ ...options, folder: headFolder(config) });
  sealChecks.add(guard.check);
  warnings.add("guard", () => guard.warning);
  return guard;
}
