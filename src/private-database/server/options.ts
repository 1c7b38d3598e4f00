// The options of the private server: reachable through its socket only, durable, of modest size.
import { join } from "node:path";
import type { Flavour } from "../../process/programs.mjs";
import { socketIn } from "./socket-folder.ts";

/** A folder in the socket folder: the only one whose files statements could name. It stays empty. */
export const noFiles = "no-files";

/** @param folder the data folder as the server sees it */
export function serverArgs(flavour: Flavour, folder: string, socketFolder: string): string[] {
  return [
    "--no-defaults",
    `--datadir=${folder}`,
    `--socket=${socketIn(socketFolder)}`,
    `--pid-file=${join(folder, "server.pid")}`,
    // Temporary tables of a killed server are removed with the socket folder.
    `--tmpdir=${socketFolder}`,
    "--skip-networking",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--local-infile=OFF",
    "--character-set-server=utf8mb4",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-buffer-pool-size=256M",
    // Small steps, and a limit for temporary tables: FreeSpace relies on the space that is left.
    "--innodb-autoextend-increment=8",
    "--innodb-temp-data-file-path=ibtmp1:12M:autoextend:max:64M",
    // What one search may take: some 600,000 results. One that finds more reads the newest items instead.
    "--innodb-ft-result-cache-limit=64M",
    "--max-connections=200",
    "--performance-schema=OFF",
    ...flavourArgs(flavour, socketFolder),
  ];
}

/** Statements cannot read or write files: MySQL has a value for that, MariaDB gets an empty folder that it may not write. */
function flavourArgs(flavour: Flavour, socketFolder: string): string[] {
  // MySQL: no second listener.
  if (flavour === "mysql") return ["--mysqlx=OFF", "--secure-file-priv=NULL"];
  return ["--skip-symbolic-links", `--secure-file-priv=${join(socketFolder, noFiles)}`];
}

/** The server gets nothing of our environment that it could act on (a systemd notify socket) or leak (secrets). */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH, TMPDIR, LD_LIBRARY_PATH } = process.env;
  return { PATH, TMPDIR, LD_LIBRARY_PATH, LC_ALL: "C" };
}
