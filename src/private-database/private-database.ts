// The private server with Stoa's database on it, by the accounts that docs/operating.md recommends for any database.

import { type PrivateServerOptions, startPrivateServer } from "./server/private-server.ts";
import { ensureAccounts, grantTables, migratingUser, servingUser } from "./setup/accounts.ts";
import { ensureDatabase } from "./setup/ensure-database.ts";

/** How an account reaches Stoa's database on a private server. */
export interface PrivateAddress {
  socketPath: string;
  user: string;
  database: string;
}

export interface PrivateAddresses {
  /** The account that serves: it reads everything, and writes what serving takes. */
  serving: PrivateAddress;
  /** The account that may alter the schema and write every table. */
  migrating: PrivateAddress;
}

export interface PrivateDatabase extends PrivateAddresses {
  /** Where the server has its data. */
  folder: string;
  /** To be called when the tables are there: the serving account gets its rights on them. */
  migrated(): Promise<void>;
  /**
   * Stops the server cleanly and frees the data folder.
   * @param boundMs after which the server is killed, in milliseconds; a minute by default
   */
  stop(boundMs?: number): Promise<void>;
}

const database = "stoa";
/** How long the server of a start that was given up may take to end, in milliseconds. */
const givenUpMs = 3_000;

export function privateAddresses(socketPath: string): PrivateAddresses {
  return {
    serving: { socketPath, user: servingUser, database },
    migrating: { socketPath, user: migratingUser, database },
  };
}

/**
 * Starts the private server of a data folder and makes database and accounts where they are missing.
 * @throws what `startPrivateServer` throws; nothing is left running then
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
    await server.stop(signal?.aborted ? givenUpMs : undefined);
    throw error;
  }
  return {
    ...privateAddresses(socketPath),
    folder: server.folder,
    migrated: () => grantTables(administrator, signal),
    stop: (boundMs) => server.stop(boundMs),
  };
}
