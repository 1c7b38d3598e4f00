// The options of the private server: reachable through its socket only, durable, of modest size.
import { join } from "node:path";
import type { Flavour } from "../../process/programs.mjs";
import { socketIn } from "./socket-folder.ts";

/** An empty folder in the socket folder: the only one whose files SQL statements may name. */
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
    // FreeSpace relies on this: files grow in small steps, and temporary tables have a limit.
    "--innodb-autoextend-increment=8",
    "--innodb-temp-data-file-path=ibtmp1:12M:autoextend:max:64M",
    // The memory of one search, for some 600,000 results. A search that finds more reads the newest items instead.
    "--innodb-ft-result-cache-limit=64M",
    "--max-connections=200",
    "--performance-schema=OFF",
    ...flavourArgs(flavour, socketFolder),
  ];
}

/** SQL statements cannot use files: MySQL has NULL for that, MariaDB gets an empty folder that it cannot write to. */
function flavourArgs(flavour: Flavour, socketFolder: string): string[] {
  // --mysqlx=OFF: no second listener.
  if (flavour === "mysql") return ["--mysqlx=OFF", "--secure-file-priv=NULL"];
  return ["--skip-symbolic-links", `--secure-file-priv=${join(socketFolder, noFiles)}`];
}

/** The server gets no other variables: it might act on them (a systemd notify socket) or leak them (secrets). */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const { PATH, TMPDIR, LD_LIBRARY_PATH } = process.env;
  return { PATH, TMPDIR, LD_LIBRARY_PATH, LC_ALL: "C" };
}
