import { StoaError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Database } from "../store/database/database.ts";
import { DatabaseWatch, type DatabaseWatchOptions } from "../store/database/database-watch.ts";
import { schemaState } from "../store/schema/migration-records.ts";
import type { Warnings } from "../warnings.ts";
import type { CleanUp } from "./shutdown.ts";

/**
 * Whether reads can be served: the database answers, its schema is the one that this program was written for, and the
 * ledger has its head.
 * @throws StoaError `unavailable` with the reason
 */
export async function checkReady(db: Database, ledger: Ledger, signal: AbortSignal): Promise<void> {
  const state = await schemaState(db.priority, signal);
  if (state.kind === "behind") throw new StoaError("unavailable", "The database is not migrated.");
  if (state.kind !== "current") throw new StoaError("unavailable", state.reason);
  const reader = db.priority.reader(signal);
  await ledger.receipts.headSeq(reader);
  await ledger.verifier.alarm.read(reader);
}

/** Watches what /readyz warns of besides: new connections, writes, and the alarm that another replica raised. */
export function watchDatabase(
  options: Omit<DatabaseWatchOptions, "onLook">,
  { ledger, warnings, cleanUp }: { ledger: Ledger; warnings: Warnings; cleanUp: CleanUp },
): void {
  const watch = new DatabaseWatch({ ...options, onLook: async (db) => void (await ledger.verifier.alarm.refresh(db)) });
  cleanUp.push(() => watch.stop(), "a look at the database");
  warnings.add("database", () => watch.connectionWarning);
  warnings.add("writes", () => watch.writeWarning);
}
