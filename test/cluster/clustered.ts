import type { TestDatabase } from "../support/database.ts";
import { openDatabase } from "../support/open-database.ts";
import { waitUntil } from "../support/wait.ts";
import type { Case } from "./cases.ts";
import { accountsFor, startDatabaseProxy } from "./proxy.ts";
import { joinMs, type NodeNumber, query, type ServerProcess, type Servers } from "./servers.ts";

/** A cluster that runs, with an empty database for the service. */
export interface Clustered {
  servers: Servers;
  /** The database on each server. */
  databases: readonly [TestDatabase, TestDatabase, TestDatabase];
  /** STOA_DATABASE_URL of a replica. */
  urlOf(replica: number): string;
}

/**
 * Starts the servers of a case, and stops them after `work`.
 * @param folder an empty folder for their data
 */
export async function withCluster<Result>(
  { start, order, proxy, port }: Case,
  folder: string,
  work: (cluster: Clustered) => Promise<Result>,
): Promise<Result> {
  const pools: TestDatabase["pool"][] = [];
  const proxies: ServerProcess[] = [];
  let servers: Servers | undefined;
  try {
    servers = await start(folder);
    const { addresses } = servers;
    await query(addresses[1], "CREATE DATABASE stoa CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    const database = async (n: NodeNumber): Promise<TestDatabase> => {
      const isThere = async () => (await query(addresses[n], "SHOW DATABASES LIKE 'stoa'")).length > 0;
      await waitUntil("the database", isThere, joinMs);
      const db = openDatabase({ ...addresses[n], user: "root", database: "stoa" });
      pools.push(db.pool);
      return db;
    };
    await query(addresses[1], ...accountsFor(proxy));
    // Each replica has a proxy of its own.
    const ports = [0, 1, 2].map((replica) => port + 35 + replica);
    for (const [replica, each] of ports.entries()) {
      const targets = order(replica).map((n) => addresses[n]);
      proxies.push(await startDatabaseProxy({ config: proxy, port: each, targets, folder }));
    }
    return await work({
      servers,
      databases: [await database(1), await database(2), await database(3)],
      urlOf: (replica) => `mysql://root@127.0.0.1:${ports[replica]}/stoa`,
    });
  } finally {
    for (const pool of pools) await pool.end().catch(() => {});
    for (const each of proxies) await each.end("SIGTERM");
    await servers?.stop();
  }
}
