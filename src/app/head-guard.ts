import type { Config } from "../config/config.ts";
import { type GuardOptions, HeadGuard } from "../ledger/guard/guard.ts";
import { headFolder } from "../ledger/guard/head-folder.ts";
import type { SealHolds } from "../ledger/seal-holds.ts";
import type { Warnings } from "../warnings.ts";

/** The guard of the ledger's head: it may hold every seal, and has a warning of its own. */
export function createGuard(
  config: Config,
  { holds, warnings, ...options }: Omit<GuardOptions, "folder"> & { holds: SealHolds; warnings: Warnings },
): HeadGuard {
  const guard = new HeadGuard({ ...options, folder: headFolder(config) });
  holds.add(guard.check);
  warnings.add("guard", () => guard.warning);
  return guard;
}
