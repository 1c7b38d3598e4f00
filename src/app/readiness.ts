import { StoaError } from "../errors.ts";
import type { Ledger } from "../ledger/ledger.ts";
import type { Database } from "../store/database/database.ts";
import { DatabaseWatch } from "../store/database/database-watch.ts";
import { missingTriggersAs, warningOf } from "../store/schema/append-only.ts";
import { schemaState } from "../store/schema/migration-records.ts";
import { whyIncomplete } from "../store/schema/schema-check.ts";
import type { ServiceDatabase } from "./database.ts";
import { LastFsck } from "./last-fsck.ts";
import type { Startup } from "./startup.ts";

/**
 * Checks whether reads can be served: the database answers, has the schema of this version, and has the ledger's head.
 * A schema of a newer version is only a warning, so that this version serves during an upgrade.
 * @returns a warning for the operator, if there is one
 * @throws StoaError `unavailable` with the reason
 */
export async function checkReady(db: Database, ledger: Ledger, signal: AbortSignal): Promise<string | undefined> {
  const state = await schemaState(db.priority, signal);
  if (state.kind === "behind") throw new StoaError("unavailable", "The database is not migrated.");
  if (state.kind === "other" || state.kind === "incomplete") throw new StoaError("unavailable", state.reason);
  const reader = db.priority.reader(signal);
  await ledger.receipts.headSeq(reader);
  await ledger.verifier.alarm.read(reader);
  return state.kind === "ahead" ? state.reason : undefined;
}

/**
 * Watches the database for the warnings of /readyz and the metrics: triggers, the schema, free space, new connections,
 * writes. Each look also reads the ledger's alarm, which another replica may have raised, and the last run of fsck.
 */
export async function watchDatabase(
  { config, overrides, log, shutdown, warnings }: Startup,
  { db, address, migrating, triggerWarning, space }: ServiceDatabase,
  ledger: Ledger,
): Promise<LastFsck> {
  const lastFsck = new LastFsck();
  await lastFsck.refresh(db.reader(shutdown.signal));
  /** What the schema lacks. The start has found it complete. */
  let incomplete: string | undefined;
  let triggers = triggerWarning;
  const watch = new DatabaseWatch({
    address,
    log,
    lookMs: overrides.databaseLookMs,
    refusesWrites: () => db.refusal !== undefined,
    onLook: async (signal) => {
      const reader = db.priority.reader(signal);
      await ledger.verifier.alarm.refresh(reader);
      const before = incomplete;
      incomplete = await whyIncomplete(reader);
      if (incomplete !== undefined && incomplete !== before) log.warn(incomplete);
      if (incomplete === undefined) await lastFsck.refresh(reader);
      const missing = config.ledgerTriggers ? await missingTriggersAs(migrating, reader, signal) : undefined;
      if (missing !== undefined) triggers = warningOf(missing);
    },
  });
  shutdown.push(() => watch.stop(), "a database check");
  warnings.add("triggers", () => triggers);
  warnings.add("schema", () => incomplete);
  warnings.add("fsck", () => lastFsck.warning);
  warnings.add("disk", () => space?.warning);
  warnings.add("database", () => watch.connectionWarning);
  warnings.add("writes", () => watch.writeWarning);
  return lastFsck;
}
