import type { NetConnectOpts } from "node:net";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";
import { type Relay, startRelay } from "./relay.ts";

/** A separate database for the test file, behind a connection that can be cut or frozen. */
export interface LinkedDatabase extends TestDatabase {
  readonly relay: Relay;
  /** The direct address, without the relay. */
  readonly directConfig: DatabaseConfig;
}

/** Creates the relay, and a database unless one is given. Both are removed after the last test of the file. */
export async function createLinkedDatabase(given?: TestDatabase): Promise<LinkedDatabase> {
  const direct = given ?? (await createTestDatabase());
  const relay = await startRelay(serverOf(direct.config), (client, database) => {
    client.pipe(database);
    database.pipe(client);
  });
  const { socketPath: _socketPath, ...account } = direct.config;
  return {
    ...direct,
    directConfig: direct.config,
    config: { ...account, host: "127.0.0.1", port: relay.port },
    relay,
  };
}

/** Where the server of a database listens. */
export function serverOf({ socketPath, port = 3306, host }: DatabaseConfig): NetConnectOpts {
  return socketPath === undefined ? { port, ...(host === undefined ? {} : { host }) } : { path: socketPath };
}
