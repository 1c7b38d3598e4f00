// The options of the private server: reachable through its socket only, durable, of modest size.
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Account } from "../../process/account.ts";
import type { Flavour } from "./find-server.mjs";
import { makeScratch, type Scratch } from "./scratch-folder.ts";

/** The longest socket path that every supported system accepts (macOS 103, Linux 107). */
const maxSocketPath = 103;
/** A folder in the socket folder: the only one whose files statements could name. It stays empty. */
export const noFiles = "no-files";

/** Creates the folder for the socket: short, and only open to the server's account, since the database has no password. */
export function makeSocketFolder(account: Account | undefined): Scratch {
  const fits = join(tmpdir(), "stoa-db-000000/server.sock.lock").length <= maxSocketPath;
  return makeScratch("db", account, fits ? tmpdir() : "/tmp");
}

export function socketIn(socketFolder: string): string {
  return join(socketFolder, "server.sock");
}

/** @param visible the data folder as the server sees it, which differs from `folder` where it is mounted for the server */
export function serverArgs(flavour: Flavour, folder: string, visible: string, socketFolder: string): string[] {
  return [
    "--no-defaults",
    `--datadir=${visible}`,
    // The log of slow queries is off. Its name identifies the server.
    ...(visible === folder ? [] : [mountedDataArg(folder)]),
    `--socket=${socketIn(socketFolder)}`,
    `--pid-file=${join(visible, "server.pid")}`,
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

/** The arguments of which a running server on this data has one. */
export function identifyingArgs(folder: string): string[] {
  return [`--datadir=${folder}`, mountedDataArg(folder)];
}

function mountedDataArg(folder: string): string {
  return `--slow-query-log-file=${join(folder, "slow.log")}`;
}

/** The server gets nothing of our environment that it could act on (a systemd notify socket) or leak (secrets). */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const kept = ["PATH", "TMPDIR", "LD_LIBRARY_PATH"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(kept), LC_ALL: "C" };
}
