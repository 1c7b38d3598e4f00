// The databases of the bench on the server: whether one is filled already, and a new empty one.
import { createPool, type Pool, type RowDataPacket } from "mysql2/promise";
import type { DatabaseConfig } from "../src/config/config.ts";
import { Database } from "../src/store/database/database.ts";
import { schemaState } from "../src/store/schema/migration-records.ts";

/** Opens a connection to the server without a database. */
export function openServer(address: DatabaseConfig): AsyncDisposable & { pool: Pool } {
  const pool = createPool({ ...address, database: undefined as never, connectionLimit: 1 });
  return { pool, [Symbol.asyncDispose]: () => pool.end() };
}

/** Returns whether the database is filled completely with the wanted number of rows, and its schema can be migrated. */
export async function isSeeded(
  admin: Pool,
  address: DatabaseConfig,
  wanted: { version: number; posts: number },
): Promise<boolean> {
  const marker = `\`${address.database}\`.bench_seed`;
  if (!(await tables(admin, address.database)).includes("bench_seed")) return false;
  const [rows] = await admin.query<RowDataPacket[]>(`SELECT version, posts FROM ${marker}`);
  if (rows[0]?.version !== wanted.version || rows[0].posts !== wanted.posts) return false;
  const db = new Database({ address, connections: 1 });
  const { kind } = await schemaState(db).finally(() => db.close());
  return kind !== "other";
}

/** Replaces the database by an empty one that is marked as the bench's own. */
export async function recreate(admin: Pool, database: string): Promise<void> {
  await refuseForeign(admin, database);
  await admin.query(`DROP DATABASE IF EXISTS \`${database}\``);
  await admin.query(`CREATE DATABASE \`${database}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  await admin.query(`CREATE TABLE \`${database}\`.bench_begun (id INT PRIMARY KEY)`);
}

/** Throws an Error if the database is not the bench's own. Only the bench's own databases are dropped. */
async function refuseForeign(admin: Pool, database: string): Promise<void> {
  const present = await tables(admin, database);
  if (present.length > 0 && !present.includes("bench_seed") && !present.includes("bench_begun")) {
    throw new Error(`The database ${database} holds something other than a bench; name an empty one.`);
  }
}

async function tables(admin: Pool, database: string): Promise<string[]> {
  const [rows] = await admin.query<RowDataPacket[]>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?",
    [database],
  );
  return rows.map((row) => row.name);
}

/** Returns whether the database of the pool is filled completely. */
export async function hasMarker(pool: Pool): Promise<boolean> {
  const [rows] = await pool.query<RowDataPacket[]>(
    "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'bench_seed'",
  );
  return rows.length > 0;
}
