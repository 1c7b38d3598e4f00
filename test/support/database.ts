import { randomBytes } from "node:crypto";
import { createPool, type Pool, type RowDataPacket } from "mysql2/promise";
import { inject } from "vitest";
import type { DatabaseConfig } from "../../src/config/config.ts";
import { afterFile } from "./after-file.ts";

/** A database of the test file's own, on the shared server, with a bare driver for looking behind the service's back. */
export interface TestDatabase {
  config: DatabaseConfig;
  pool: Pool;
  rows<Row>(sql: string, params?: unknown[]): Promise<Row[]>;
}

/** Creates an empty database; it is dropped after the file's last test. */
export async function createTestDatabase(): Promise<TestDatabase> {
  const server = inject("server");
  const database = `stoa_test_${randomBytes(8).toString("hex")}`;
  const admin = createPool({ ...server, connectionLimit: 1 });
  await admin.query(`CREATE DATABASE ${database} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  const config: DatabaseConfig = { ...server, database };
  const pool = createPool({ ...config, connectionLimit: 4, supportBigNumbers: true, multipleStatements: false });
  afterFile(async () => {
    // A test may have ended its connections in the server, which the goodbye to them finds out.
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
