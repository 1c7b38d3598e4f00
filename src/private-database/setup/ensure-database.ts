import { type Administrator, administer } from "./administrator.ts";

/** Creates a database on the private server if it is missing. `name` must not come from input. */
export function ensureDatabase(
  administrator: Administrator,
  name: string,
  signal = new AbortController().signal,
): Promise<void> {
  return administer(administrator, signal, async (connection) => {
    await connection.query(`CREATE DATABASE IF NOT EXISTS ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  });
}
