import { createConnection } from "mysql2/promise";

/** Creates a database on a server of our own, where it is missing. `name` is ours, not input. */
export async function ensureDatabase(account: { socketPath: string; user: string }, name: string): Promise<void> {
  const connection = await createConnection(account);
  try {
    await connection.query(`CREATE DATABASE IF NOT EXISTS ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  } finally {
    await connection.end();
  }
}
