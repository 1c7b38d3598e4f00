// How the private server is run: reachable through its socket alone, durable, of modest size.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Flavour } from "./find.mjs";

/** The longest socket path that every supported system takes (macOS 103, Linux 107). */
const maxSocketPath = 103;
const socketFolderPrefix = "stoa-db-";

/** Makes the folder for the socket: short, and open to this account alone, since the database asks for no password. */
export function makeSocketFolder(): string {
  const usual = join(tmpdir(), socketFolderPrefix);
  // mkdtemp adds 6 characters and makes the folder 0700.
  const fits = usual.length + 6 + "/server.sock.lock".length <= maxSocketPath;
  return mkdtempSync(fits ? usual : `/tmp/${socketFolderPrefix}`);
}

/** Whether a recorded path can be one that `makeSocketFolder` made; nothing else is ever removed. */
export function isSocketFolder(path: string): boolean {
  return /\/stoa-db-[A-Za-z0-9]{6}$/.test(path);
}

export function socketIn(socketFolder: string): string {
  return join(socketFolder, "server.sock");
}

export function serverArgs(flavour: Flavour, folder: string, socketFolder: string, pidFile: string): string[] {
  return [
    "--no-defaults",
    dataDirArg(folder),
    `--socket=${socketIn(socketFolder)}`,
    `--pid-file=${pidFile}`,
    // Temporary tables of a killed server go away with the socket folder.
    `--tmpdir=${socketFolder}`,
    "--skip-networking",
    "--skip-name-resolve",
    "--skip-log-bin",
    "--local-infile=OFF",
    "--character-set-server=utf8mb4",
    "--innodb-flush-log-at-trx-commit=1",
    "--innodb-buffer-pool-size=256M",
    "--max-connections=200",
    "--performance-schema=OFF",
    // MySQL: no second listener, and no need for the folder that its packages name (a missing one ends the server).
    ...(flavour === "mysql" ? ["--mysqlx=OFF", "--secure-file-priv=NULL"] : []),
    ...accountArgs(),
  ];
}

/** The argument by which a running server is known to be ours. */
export function dataDirArg(folder: string): string {
  return `--datadir=${folder}`;
}

/** Both servers refuse to run as root unless told to. */
export function accountArgs(): string[] {
  return process.getuid?.() === 0 ? ["--user=root"] : [];
}

/** The server gets nothing of our environment that it could act on (a systemd notify socket) or leak (secrets). */
export function serverEnvironment(): NodeJS.ProcessEnv {
  const kept = ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH"].flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value]];
  });
  return { ...Object.fromEntries(kept), LC_ALL: "C" };
}
