import { HeadFolder } from "./head-folder.ts";

/** What tells one database from another. */
interface DatabaseAddress {
  socketPath?: string | undefined;
  host?: string | undefined;
  port?: number | undefined;
  database: string;
}

/** Where this replica remembers the newest receipt that it served, whether the database is private or not. */
export function headFolder({
  dataDir,
  database,
}: {
  dataDir: string;
  database: DatabaseAddress | undefined;
}): HeadFolder {
  return new HeadFolder(dataDir, database === undefined ? "private" : nameOf(database));
}

/** Without the account: several may use one database. */
function nameOf({ socketPath, host, port, database }: DatabaseAddress): string {
  return `${socketPath ?? `${host ?? "127.0.0.1"}:${port ?? 3306}`}/${database}`;
}
