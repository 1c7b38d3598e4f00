import { Database } from "../../store/database/database.ts";

/** The account that sets up the private server. */
export interface Administrator {
  socketPath: string;
  user: string;
}

/** Runs statements one after another. @throws StoaError; the signal's reason */
export async function administer(
  administrator: Administrator,
  statements: readonly string[],
  signal = new AbortController().signal,
): Promise<void> {
  const db = new Database({ address: administrator, connections: 1, timeoutMs: Number.POSITIVE_INFINITY });
  try {
    for (const statement of statements) await db.runDdl(signal, statement);
  } finally {
    await db.close();
  }
}

/** Creates a database on the private server if it is missing. @param name is not escaped; must not come from input */
export function ensureDatabase(administrator: Administrator, name: string, signal?: AbortSignal): Promise<void> {
  const statement = `CREATE DATABASE IF NOT EXISTS ${name} CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`;
  return administer(administrator, [statement], signal);
}
