import type { FastifyBaseLogger } from "fastify";
import type { Config, DatabaseConfig } from "../config.ts";
import { restoreTriggers } from "../store/append-only.ts";
import { Database } from "../store/database.ts";
import { ensureDatabase } from "../store/ensure-database.ts";
import { migrate } from "../store/migrate.ts";
import { ensureAccounts, grantTables, migratingUser, servingUser } from "../store/private-server/accounts.ts";
import { startPrivateServer } from "../store/private-server.ts";

/** The private database by the accounts that README recommends for any. */
export interface PrivateDatabase {
  serving: DatabaseConfig;
  migrating: DatabaseConfig;
  /** To be called when the tables are there: the serving account gets its rights on them. */
  migrated(): Promise<void>;
}

/**
 * Starts the private server and sees to its database and accounts. What stops it is added to `cleanUp`.
 * @throws Error with one line for the operator
 */
export async function startPrivateDatabase(
  { dataDir }: Config,
  log: FastifyBaseLogger,
  cleanUp: (() => Promise<void>)[],
  signal: AbortSignal | undefined,
): Promise<PrivateDatabase> {
  const server = await startPrivateServer({ dataDir, log: (line) => log.info(line), signal });
  cleanUp.push(() => server.stop());
  const { socketPath, user } = server;
  const administrator = { socketPath, user };
  await ensureDatabase(administrator, "stoa");
  await ensureAccounts(administrator);
  return {
    serving: { socketPath, user: servingUser, database: "stoa" },
    migrating: { socketPath, user: migratingUser, database: "stoa" },
    migrated: () => grantTables(administrator),
  };
}

/**
 * Brings the schema up to date and restores missing triggers.
 * @returns what the operator should know of the database
 */
export async function migrateAs(
  address: DatabaseConfig,
  log: FastifyBaseLogger,
  signal: AbortSignal = new AbortController().signal,
): Promise<string | undefined> {
  const db = new Database({ address, connections: 2, timeoutMs: Number.POSITIVE_INFINITY });
  try {
    await migrate(db, { log: (line) => log.info(line), signal });
    const warning = await restoreTriggers(db, signal, (line) => log.warn(line));
    if (warning !== undefined) log.warn(warning);
    return warning;
  } finally {
    await db.close();
  }
}
