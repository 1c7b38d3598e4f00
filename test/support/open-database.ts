import { createPool, type Pool, type RowDataPacket } from "mysql2/promise";
import type { DatabaseConfig } from "../../src/config/config.ts";

/** A database with a plain driver, to read and change it directly. */
export interface TestDatabase {
  config: DatabaseConfig;
  pool: Pool;
  rows<Row>(sql: string, params?: unknown[]): Promise<Row[]>;
}

/** Opens a database, outside of Vitest too. The caller ends its pool. */
export function openDatabase(config: DatabaseConfig, connectionLimit = 2): TestDatabase {
  const pool = createPool({ ...config, connectionLimit, supportBigNumbers: true });
  const rows = async <Row>(sql: string, params: unknown[] = []) =>
    (await pool.query<RowDataPacket[]>(sql, params as never))[0] as Row[];
  return { config, pool, rows };
}
