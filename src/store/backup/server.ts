import type { Flavour } from "../../process/programs.mjs";
import { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import type { ServerAddress } from "./client-program.ts";

/** Where the database is. */
export interface BackupAddress extends ServerAddress {
  others?: { host: string; port: number }[];
}

/** The first server of the address that answers; the last one if none does. @throws the signal's reason */
export async function firstServer(
  { others = [], ...first }: BackupAddress,
  signal: AbortSignal,
): Promise<ServerAddress> {
  const servers = [first, ...others.map((other) => ({ ...first, ...other }))];
  for (const server of servers.slice(0, -1)) {
    const db = new Database({ address: server, connections: 1 });
    const rows = await db
      .reader(signal)
      .rows("SELECT 1")
      .catch(() => undefined);
    await db.close();
    signal.throwIfAborted();
    if (rows !== undefined) return server;
  }
  return servers.at(-1) as ServerAddress;
}

/** The engine of a server with its version, such as "MariaDB 10.11.6". */
export async function readEngine(db: Queryable): Promise<string> {
  const [server] = await db.rows<{ version: string }>("SELECT VERSION() AS version");
  const [number = "", ...rest] = (server?.version ?? "").split("-");
  return `${rest.includes("MariaDB") ? "MariaDB" : "MySQL"} ${number}`;
}

/** @param engine with its version */
export function flavourOf(engine: string): Flavour {
  return engine.startsWith("MariaDB ") ? "mariadb" : "mysql";
}
