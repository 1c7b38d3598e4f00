import { randomBytes } from "node:crypto";
import { createPool, type Pool, type RowDataPacket } from "mysql2/promise";
import { inject } from "vitest";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { afterFile } from "./after-file.ts";

/** A separate database for the test file on the shared server, with a plain driver to read and change it directly. */
export interface TestDatabase {
  config: DatabaseConfig;
  pool: Pool;
  rows<Row>(sql: string, params?: unknown[]): Promise<Row[]>;
}

/** Creates a database with the schema of this version, as if the migrations had run. It is dropped like the one below. */
export async function createDatabaseWithSchema(): Promise<TestDatabase> {
  const db = await createTestDatabase();
  const connection = await db.pool.getConnection();
  try {
    for (const statement of inject("schema")) await connection.query(statement);
  } finally {
    connection.release();
  }
  return db;
}

/** Creates an empty database, which is dropped after the last test of the file. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject("server");
  const database = `stoa_test_${randomBytes(8).toString("hex")}`;
  const admin = createPool({ ...server, connectionLimit: 1 });
  await admin.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  const config: DatabaseConfig = { ...server, database };
  const pool = createPool({ ...config, connectionLimit: 4, supportBigNumbers: true, multipleStatements: false });
  afterFile(async () => {
    // A test may have ended its connections in the server, so closing them can fail.
    await pool.end().catch(() => {});
    await admin.query(`DROP DATABASE ${database}`);
    await admin.end();
  });
  return {
    config,
    pool,
    rows: async <Row>(sql: string, params: unknown[] = []) =>
      (await pool.query<RowDataPacket[]>(sql, params as never))[0] as Row[],
  };
}
