import type { Config, DatabaseConfig } from "./config.ts";
import { HeadFolder } from "./ledger/guard/head-files.ts";

/** Where this replica remembers the newest receipt that it served, whether the database is private or not. */
export function headFolder({ dataDir, database }: Pick<Config, "dataDir" | "database">): HeadFolder {
  return new HeadFolder(dataDir, database === undefined ? "private" : nameOf(database));
}

/** Without the account: several may use one database. */
function nameOf({ socketPath, host, port, database }: DatabaseConfig): string {
  return `${socketPath ?? `${host ?? "127.0.0.1"}:${port ?? 3306}`}/${database}`;
}
