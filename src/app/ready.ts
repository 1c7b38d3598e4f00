import { StoaError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Database } from "../store/database.ts";
import { schemaState } from "../store/migrate.ts";

/** @throws StoaError `unavailable` unless the database answers and its schema is the one that this program was written for */
export async function checkReady(db: Database, ledger: Ledger, signal: AbortSignal): Promise<void> {
  const state = await schemaState(db.vital, signal);
  if (state.kind === "behind") throw new StoaError("unavailable", "The database is not migrated.");
  if (state.kind === "other") throw new StoaError("unavailable", state.reason);
  await ledger.refreshAlarm(signal);
}
