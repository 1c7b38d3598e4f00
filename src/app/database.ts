import { type DatabaseConfig, describeDatabase } from "../config/config.ts";
import { FreeSpace } from "../private-database/free-space.ts";
import { type PrivateDatabase, startPrivateDatabase } from "../private-database/private-database.ts";
import { Database } from "../store/database/database.ts";
import { reachDatabase } from "../store/database/reach-database.ts";
import { restoreTriggers } from "../store/schema/append-only.ts";
import { migrate } from "../store/schema/migrate.ts";
import { checkPacketLimit } from "../store/schema/packet-limit.ts";
import { whyIncomplete } from "../store/schema/schema-check.ts";
import { checkServingGrants, mayChangeReceipts } from "../store/schema/serving-grants.ts";
import type { Startup } from "./startup.ts";

/** How long the private server may take to end after SIGKILL, in milliseconds. */
const killTimeoutMs = 500;

/** The database of the service: migrated, and ready for calls. */
export interface ServiceDatabase {
  db: Database;
  address: DatabaseConfig;
  /** The account that may alter the schema, if `address` has another one. */
  migrating: DatabaseConfig | undefined;
  /** The warning about missing triggers; undefined if all exist, cannot be seen, or are not wanted. */
  triggerWarning: string | undefined;
  /** The free space on the private server's disk; undefined where it is not watched. */
  space: FreeSpace | undefined;
}

interface PrivateServer extends PrivateDatabase {
  space: FreeSpace | undefined;
}

/**
 * Connects to the database, and brings its schema up to date. If no database is configured, starts the private server.
 * @throws Error with one line for the operator
 */
export async function openDatabase(startup: Startup): Promise<ServiceDatabase> {
  const { config, shutdown, sealChecks } = startup;
  const own = config.database === undefined ? await startPrivateServer(startup) : undefined;
  const address = config.database ?? (own as PrivateServer).serving;
  const space = own?.space;
  shutdown.signal.throwIfAborted();
  const db = new Database({
    address,
    connections: config.databaseConnections,
    timeoutMs: config.databaseTimeoutMs,
    refusal: space?.refusal,
  });
  shutdown.push(() => db.close(), "connections to the database");
  sealChecks.add(async () => space?.refusal()?.message);
  if (config.database !== undefined) await reach(db, "STOA_DATABASE_URL", config.database, startup);
  const migrating = config.migrationDatabase ?? own?.migrating;
  const triggerWarning = await migrateSchema(migrating ?? address, space, startup);
  await own?.migrated();
  const { signal } = startup.shutdown;
  await checkServingGrants(db, signal);
  if (!config.ledgerTriggers) await warnOfRights(db, startup);
  return { db, address, migrating, triggerWarning, space };
}

/** Waits for a configured database. @throws Error with one line */
function reach(db: Database, setting: string, address: DatabaseConfig, { config, log, shutdown }: Startup) {
  return reachDatabase(db, {
    signal: shutdown.signal,
    subject: `${setting} names ${describeDatabase(address)}`,
    waitMs: config.databaseWaitMs,
    onWait: (line) => log.warn(line),
  });
}

/** Without triggers, only the rights of the serving account protect the receipts. */
async function warnOfRights(db: Database, { log, shutdown }: Startup): Promise<void> {
  if (!(await mayChangeReceipts(db, shutdown.signal))) return;
  log.warn(
    "STOA_LEDGER_TRIGGERS is off, and the serving account may change receipts: nothing in the database prevents it. Use two" +
      " accounts, as docs/operating.md describes.",
  );
}

/** Starts the private server, and creates its database and accounts. */
async function startPrivateServer({ config, log, shutdown }: Startup): Promise<PrivateServer> {
  const { dataDir, minFreeMiB } = config;
  const { signal } = shutdown;
  const database = await startPrivateDatabase({ dataDir, log: (line, level) => log[level ?? "info"](line), signal });
  const timeoutMs = (endsAt: number) => Math.max(endsAt - performance.now() - killTimeoutMs, 0);
  shutdown.push((endsAt) => database.stop(timeoutMs(endsAt)), "the private database", true);
  const { folder } = database;
  const space = minFreeMiB === "off" ? undefined : await FreeSpace.watch({ folder, minFreeMiB, log });
  shutdown.push(async () => space?.stop(), "the free space watch");
  return { ...database, space };
}

/**
 * Brings the schema up to date, and restores missing triggers.
 * @returns the warning about missing triggers
 */
async function migrateSchema(
  address: DatabaseConfig,
  space: FreeSpace | undefined,
  startup: Startup,
): Promise<string | undefined> {
  const { config, log, shutdown } = startup;
  const { signal } = shutdown;
  const db = new Database({ address, connections: 2, timeoutMs: Number.POSITIVE_INFINITY, refusal: space?.refusal });
  // A COMMIT without an answer has no timeout here, so a stop closes its connection.
  shutdown.push(() => db.close(), "the migration");
  try {
    if (config.migrationDatabase !== undefined)
      await reach(db, "STOA_MIGRATION_DATABASE_URL", config.migrationDatabase, startup);
    await checkPacketLimit(db.reader(signal));
    const { ledgerTriggers } = config;
    await migrate(db, { log: (line) => log.info(line), signal, triggers: ledgerTriggers });
    const incomplete = await whyIncomplete(db.reader(signal));
    if (incomplete !== undefined) throw new Error(incomplete);
    if (!ledgerTriggers) return undefined;
    const warning = await restoreTriggers(db, signal, (line) => log.warn(line));
    if (warning !== undefined) log.warn(warning);
    return warning;
  } catch (error) {
    if (!space?.isLow) throw error;
    throw new Error(`The database cannot be migrated. ${space.warning} Free some space and start again.`, {
      cause: error,
    });
  } finally {
    await db.close();
  }
}
