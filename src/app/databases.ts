import type { FastifyBaseLogger } from "fastify";
import type { Config, DatabaseConfig } from "../config/config.ts";
import { type PrivateDatabase, startPrivateDatabase } from "../private-database/private-database.ts";
import { Database } from "../store/database/database.ts";
import { FreeSpace } from "../store/database/free-space.ts";
import { checkPacketLimit } from "../store/database/packet-limit.ts";
import { restoreTriggers } from "../store/schema/append-only.ts";
import { migrate } from "../store/schema/migrate.ts";
import type { CleanUp } from "./shutdown.ts";

/** How long a server that is killed may take to be gone, in milliseconds. */
const killedMs = 500;

export interface OwnDatabase extends PrivateDatabase {
  /** The free space on its disk; undefined where it is not watched. */
  space: FreeSpace | undefined;
}

/**
 * Starts the private server and sees to its database and accounts. What stops it is added to `cleanUp`.
 * @throws Error with one line for the operator
 */
export async function startOwnDatabase(
  { dataDir, minFreeMiB }: Config,
  log: FastifyBaseLogger,
  cleanUp: CleanUp,
  signal: AbortSignal,
): Promise<OwnDatabase> {
  const database = await startPrivateDatabase({ dataDir, log: (line, level) => log[level ?? "info"](line), signal });
  const boundMs = (endsAt: number) => Math.max(endsAt - performance.now() - killedMs, 0);
  cleanUp.pushLast((endsAt) => database.stop(boundMs(endsAt)), "the private database");
  const { folder } = database;
  const space = minFreeMiB === "off" ? undefined : await FreeSpace.watch({ folder, minFreeMiB, log });
  cleanUp.push(async () => space?.stop(), "the watch over free space");
  return { ...database, space };
}

/**
 * Brings the schema up to date and restores missing triggers.
 * @returns what the operator should know of the database
 */
export async function migrateAs(
  address: DatabaseConfig,
  log: FastifyBaseLogger,
  { cleanUp, signal, space }: { cleanUp: CleanUp; signal: AbortSignal; space: FreeSpace | undefined },
): Promise<string | undefined> {
  const refusal = () => space?.refusal;
  const db = new Database({ address, connections: 2, timeoutMs: Number.POSITIVE_INFINITY, refusal });
  // A COMMIT without an answer has no time limit here.
  cleanUp.push(() => db.close(), "the migration");
  try {
    await checkPacketLimit(db.reader(signal));
    await migrate(db, { log: (line) => log.info(line), signal });
    const warning = await restoreTriggers(db, signal, (line) => log.warn(line));
    if (warning !== undefined) log.warn(warning);
    return warning;
  } catch (error) {
    if (space?.refusal === undefined) throw error;
    throw new Error(`The database cannot be migrated. ${space.warning} Free some and start again.`, { cause: error });
  } finally {
    await db.close();
  }
}
