import { randomBytes } from "node:crypto";
import { createConnection, createPool } from "mysql2/promise";
import { inject } from "vitest";
import { Database } from "../../src/store/database/database.ts";
import { afterFile } from "./after-file.ts";
import { openDatabase, type TestDatabase } from "./open-database.ts";

export type { TestDatabase };

/** Creates a database with the schema of this version, as if the migrations had run. It is dropped like the one below. */
export async function createDatabaseWithSchema(): Promise<TestDatabase> {
  const db = await createTestDatabase();
  const connection = await createConnection({ ...db.config, multipleStatements: true });
  await connection.query(inject("schema")).finally(() => connection.end());
  return db;
}

/** The pool of connections with which a service uses a database. It closes after the last test of the file. */
export function openStore({ config }: TestDatabase, connections: number): Database {
  const store = new Database({ address: config, connections });
  afterFile(() => store.close());
  return store;
}

/** Creates an empty database, which is dropped after the last test of the file. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject("server");
  const database = `stoa_test_${randomBytes(8).toString("hex")}`;
  const admin = createPool({ ...server, connectionLimit: 1 });
  await admin.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  const db = openDatabase({ ...server, database }, 4);
  afterFile(async () => {
    // A test may have ended its connections in the server, so closing them can fail.
    await db.pool.end().catch(() => {});
    await admin.query(`DROP DATABASE ${database}`);
    await admin.end();
  });
  return db;
}
