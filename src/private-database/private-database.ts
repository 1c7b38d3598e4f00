// The private server with Stoa's database and its two accounts, which docs/operating.md recommends for any database.
import { type PrivateServerOptions, startPrivateServer } from "./server/private-server.ts";
import { ensureAccounts, grantTables, migratingUser, servingUser } from "./setup/accounts.ts";
import { type Administrator, ensureDatabase } from "./setup/ensure-database.ts";

export interface PrivateAddresses {
  /** The account of the service: it reads everything, and writes only what the service needs. */
  serving: Administrator & { database: string };
  /** The account that may alter the schema and write every table. */
  migrating: Administrator & { database: string };
}

export interface PrivateDatabase extends PrivateAddresses {
  /** The folder of the server's data. */
  folder: string;
  /** Must be called when the tables exist: it grants the serving account its rights on them. */
  migrated(): Promise<void>;
  /**
   * Stops the server cleanly and releases the data folder.
   * @param timeoutMs how long the server may take before it is killed, in milliseconds; by default a minute
   */
  stop(timeoutMs?: number): Promise<void>;
}

const database = "stoa";
/** How long the server may take to end when the start is aborted, in milliseconds. */
const abortedStartTimeoutMs = 3_000;

export function privateAddresses(socketPath: string): PrivateAddresses {
  return {
    serving: { socketPath, user: servingUser, database },
    migrating: { socketPath, user: migratingUser, database },
  };
}

/**
 * Starts the private server of a data folder, and creates the database and the accounts if they are missing.
 * @throws what `startPrivateServer` and `administer` throw; nothing is left running then
 */
export async function startPrivateDatabase(options: PrivateServerOptions): Promise<PrivateDatabase> {
  const { signal } = options;
  const server = await startPrivateServer(options);
  const { socketPath, user } = server;
  const administrator = { socketPath, user };
  try {
    await ensureDatabase(administrator, database, signal);
    await ensureAccounts(administrator, signal);
  } catch (error) {
    await server.stop(signal?.aborted ? abortedStartTimeoutMs : undefined);
    throw error;
  }
  return {
    ...privateAddresses(socketPath),
    folder: server.folder,
    migrated: () => grantTables(administrator, signal),
    stop: (timeoutMs) => server.stop(timeoutMs),
  };
}
