import { createPool, type RowDataPacket } from "mysql2/promise";
import type { TestDatabase } from "../support/database.ts";
import { waitUntil } from "../support/wait.ts";
import type { Case } from "./cases.ts";
import { joinMs, type NodeNumber, nodes, query, type Servers } from "./servers.ts";

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
  { start, order }: Case,
  folder: string,
  work: (cluster: Clustered) => Promise<Result>,
): Promise<Result> {
  const pools: TestDatabase["pool"][] = [];
  let servers: Servers | undefined;
  try {
    servers = await start(folder);
    const { addresses } = servers;
    await query(addresses[1], "CREATE DATABASE stoa CHARACTER SET utf8mb4 COLLATE utf8mb4_bin");
    const database = async (n: NodeNumber): Promise<TestDatabase> => {
      const isThere = async () => (await query(addresses[n], "SHOW DATABASES LIKE 'stoa'")).length > 0;
      await waitUntil("the database", isThere, joinMs);
      const config = { ...addresses[n], user: "root", database: "stoa" };
      const pool = createPool({ ...config, connectionLimit: 2, supportBigNumbers: true });
      pools.push(pool);
      const rows = async <Row>(sql: string, params: unknown[] = []) =>
        (await pool.query<RowDataPacket[]>(sql, params as never))[0] as Row[];
      return { config, pool, rows };
    };
    const hosts = nodes.map((n) => [n, `${addresses[n].host}:${addresses[n].port}`] as const);
    const hostOf = new Map(hosts);
    return await work({
      servers,
      databases: [await database(1), await database(2), await database(3)],
      urlOf: (replica) =>
        `mysql://root@${order(replica)
          .map((n) => hostOf.get(n))
          .join(",")}/stoa`,
    });
  } finally {
    for (const pool of pools) await pool.end().catch(() => {});
    await servers?.stop();
  }
}
