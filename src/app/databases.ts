import type { FastifyBaseLogger } from "fastify";
import type { Config, DatabaseConfig } from "../config.ts";
import { restoreTriggers } from "../store/append-only.ts";
import { Database } from "../store/database.ts";
import { migrate } from "../store/migrate.ts";
import { type PrivateDatabase, startPrivateDatabase } from "../store/private-database.ts";

/**
 * Starts the private server and sees to its database and accounts. What stops it is added to `cleanUp`.
 * @throws Error with one line for the operator
 */
export async function startOwnDatabase(
  { dataDir }: Config,
  log: FastifyBaseLogger,
  cleanUp: (() => Promise<void>)[],
  signal: AbortSignal | undefined,
): Promise<PrivateDatabase> {
  const database = await startPrivateDatabase({ dataDir, log: (line) => log.info(line), signal });
  cleanUp.push(() => database.stop());
  return database;
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
