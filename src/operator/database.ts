// Finds the database of the service for a command: the one of STOA_DATABASE_URL, or else the private one. While the
// service runs, the command uses the private server that runs already; otherwise it starts the server, and stops it at
// the end.
import { existsSync, statSync } from "node:fs";
import { join } from "node:path";
import { type DatabaseConfig, describeDatabase } from "../config/config.ts";
import type { StoaError } from "../errors.ts";
import { databaseIn, giveDataFolder } from "../private-database/data-folder.ts";
import { privateAddresses, startPrivateDatabase } from "../private-database/private-database.ts";
import { madeBy } from "../private-database/server/initialise.ts";
import { runningServer } from "../private-database/server/running-server.ts";
import { socketIn } from "../private-database/server/socket-folder.ts";
import { type Account, unprivilegedAccount } from "../process/account.ts";
import { DataFolderInUse, isLocked } from "../process/folder-lock.ts";
import { Database } from "../store/database/database.ts";
import { reachDatabase } from "../store/database/reach-database.ts";
import { schemaState } from "../store/schema/migration-records.ts";
import type { OperatorContext } from "./command.ts";
import { withSpace } from "./write-space.ts";

/** The accounts with which a command connects to its database. */
export interface OperatorAddresses {
  /** An account that may read everything. */
  serving: DatabaseConfig;
  /** An account that may also write every table and alter the schema. */
  migrating: DatabaseConfig;
}

interface FoundDatabase extends OperatorAddresses {
  /** Stops what was started for the command. */
  close(): Promise<void>;
}

/**
 * `beside`: the service may run, and a missing private database is an error. `alone`: the service of this data folder
 * must not run, and a missing private database is created. With STOA_DATABASE_URL both are the same.
 */
export type OpenMode = "beside" | "alone";

export interface PoolOptions {
  mode?: OpenMode;
  /** Whether the command writes. If so, it is refused while a service would refuse writes because the disk is full. */
  writes: boolean;
  connections: number;
  /** How long one statement may take, in milliseconds; without a limit by default. */
  timeoutMs?: number;
}

/**
 * Runs `work` on the database of the service, with the account that may alter the schema.
 * @throws Error with one line for the operator; the errors of `work`
 */
export function withDatabase<Result>(
  context: OperatorContext,
  { mode = "beside", writes, connections, timeoutMs = Number.POSITIVE_INFINITY }: PoolOptions,
  work: (db: Database, addresses: OperatorAddresses) => Promise<Result>,
): Promise<Result> {
  return withAddresses(context, mode, (addresses) => {
    const withPool = async (refusal?: () => StoaError | undefined) => {
      const db = new Database({ address: addresses.migrating, connections, timeoutMs, refusal });
      try {
        return await work(db, addresses);
      } finally {
        await db.close();
      }
    };
    return writes ? withSpace(context, withPool) : withPool();
  });
}

/**
 * Like `withDatabase`, for work that opens its own connections.
 * @throws Error with one line for the operator; the errors of `work`
 */
export async function withAddresses<Result>(
  context: OperatorContext,
  mode: OpenMode,
  work: (addresses: OperatorAddresses) => Promise<Result>,
): Promise<Result> {
  const { close, ...addresses } = await findDatabase(context, mode);
  try {
    return await work(addresses);
  } finally {
    await close();
  }
}

/**
 * Checks that the schema is the one of this version.
 * @param options.mayLack whether missing tables are allowed
 * @throws Error with one line for the operator if it is not
 */
export async function checkMigrated(db: Database, signal: AbortSignal, { mayLack = false } = {}): Promise<void> {
  const state = await schemaState(db, signal);
  if (state.kind === "behind") {
    throw new Error("the database is not migrated to this version; start the service first");
  }
  if (state.kind === "other" || state.kind === "ahead" || (state.kind === "incomplete" && !mayLack))
    throw new Error(state.reason);
}

async function findDatabase({ config, note, signal }: OperatorContext, mode: OpenMode): Promise<FoundDatabase> {
  if (config.database !== undefined) {
    const { database: serving, migrationDatabase: migrating = serving } = config;
    await reach(migrating === serving ? "STOA_DATABASE_URL" : "STOA_MIGRATION_DATABASE_URL", migrating, signal);
    return { serving, migrating, close: async () => {} };
  }
  const { dataDir } = config;
  try {
    if (mode === "beside" && !hasDatabase(dataDir)) {
      throw new Error(
        `there is no database in ${dataDir}; set STOA_DATA_DIR or STOA_DATABASE_URL to the service's value`,
      );
    }
    // Starting the server would first wait a second for the lock.
    if (mode === "beside" && runningServer(dataDir) !== undefined && isLocked(dataDir)) return findRunning(dataDir);
    return await startOwn(dataDir, note, signal);
  } catch (error) {
    if (error instanceof DataFolderInUse && mode === "beside") return findRunning(dataDir);
    throw error;
  }
}

/** @throws Error with one line when the database does not answer */
async function reach(setting: string, address: DatabaseConfig, signal: AbortSignal): Promise<void> {
  const db = new Database({ address, connections: 1 });
  await reachDatabase(db, { signal, subject: `${setting} names ${describeDatabase(address)}` }).finally(() =>
    db.close(),
  );
}

/** @throws Error of the file system if this account may not read the folder */
function hasDatabase(dataDir: string): boolean {
  const folder = databaseIn(dataDir);
  return statSync(folder, { throwIfNoEntry: false }) !== undefined && madeBy(folder) !== undefined;
}

async function startOwn(dataDir: string, note: (line: string) => void, signal: AbortSignal): Promise<FoundDatabase> {
  const owner = ownerBefore(dataDir);
  const { serving, migrating, stop } = await startPrivateDatabase({ dataDir, log: note, signal });
  const close = async () => {
    await stop();
    // Root owns the folder now. A service that runs as the former owner could not start.
    if (owner !== undefined) await giveDataFolder(dataDir, owner, note);
  };
  return { serving, migrating, close };
}

/** The owner of the folder; undefined if that is root, or if this process is not root. */
function ownerBefore(dataDir: string): Account | undefined {
  const uid = statSync(dataDir, { throwIfNoEntry: false })?.uid;
  return uid === undefined || uid === 0 ? undefined : unprivilegedAccount([dataDir]);
}

/** @throws Error when the server of the running service cannot be reached from here */
function findRunning(dataDir: string): FoundDatabase {
  const server = runningServer(dataDir);
  if (server === undefined) {
    throw new Error(`the data folder ${dataDir} is in use, but its database server does not run yet; try again`);
  }
  const socketPath = socketIn(server.socketFolder);
  // The service may have its own /tmp (PrivateTmp= of systemd).
  const elsewhere = join("/proc", String(server.pid), "root", socketPath);
  const found = [socketPath, elsewhere].find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error(
      `the socket ${socketPath} cannot be reached; run the command as root or as the account of the service`,
    );
  }
  return { ...privateAddresses(found), close: async () => {} };
}
