// Who owns the data folder where root starts the service.
import { chmodSync, lchownSync, mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Account } from "../process/account.ts";
import { handOver } from "../process/ownership.ts";
import { takeLock } from "./lock/data-folder-lock.ts";
import { type ServerFiles, stopLeftOver } from "./server/stale-server.ts";

/** All that this program ever makes in a data folder, the set-up's lock among it. */
const ours =
  /^(?:mysql|mysql\.new-\w{6}|mysql\.(?:json(?:\.new)?|pid|lock|log(?:\.1)?)|lock(?:\.[\w.-]+)?|setup\.lock|heads)$/;

/** The folder of the heads that were served; see `HeadFolder`. */
const headFolder = "heads";

/** Makes the folder if it is missing. @returns its real path */
export function makeDataFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  // The server is later recognised by this very path on its command line.
  return realpathSync(path);
}

export function serverFiles(dataDir: string): ServerFiles {
  const folder = join(dataDir, "mysql");
  return {
    folder,
    record: join(dataDir, "mysql.json"),
    lock: join(dataDir, "mysql.lock"),
    pidFile: join(folder, "server.pid"),
  };
}

/** Something in the folder that is not this program's; undefined when there is nothing else. */
export function foreignEntry(dataDir: string): string | undefined {
  return readdirSync(dataDir).find((name) => !ours.test(name));
}

/**
 * Gives a data folder to the account that will use it from now on; a server that an earlier service left running on it is
 * stopped first. Nothing but this program's own files changes hands.
 * @throws Error when the folder is in use
 */
export async function giveDataFolder(dataDir: string, account: Account, log: (line: string) => void): Promise<void> {
  const unlock = await takeLock(dataDir);
  try {
    const { lock } = await stopLeftOver(serverFiles(dataDir), log);
    lock.release();
    handOver(account, ownEntries(dataDir));
    chmodSync(dataDir, 0o700);
    lchownSync(dataDir, account.uid, account.gid);
  } finally {
    unlock();
  }
}

/**
 * With an external database: gives the folder to the account that will keep the heads in it. A folder that belongs to
 * somebody else, or has more in it, stays as it is; that the heads cannot be kept is told when they are written.
 */
export function giveHeadFolder(path: string, account: Account): void {
  const dataDir = makeDataFolder(path);
  const names = readdirSync(dataDir);
  if (statSync(dataDir).uid !== 0 || names.some((name) => name !== headFolder)) return;
  handOver(account, [dataDir]);
}

/**
 * Where the service stays root: gives the database alone to the account of its server. The folder around it is root's, so
 * that the server cannot lead root astray there. The caller holds the lock.
 */
export function giveDatabase(dataDir: string, account: Account): void {
  handOver(
    account,
    ownEntries(dataDir).filter((path) => path === serverFiles(dataDir).folder),
  );
  if (foreignEntry(dataDir) !== undefined) return;
  lchownSync(dataDir, 0, 0);
  chmodSync(dataDir, 0o711);
}

function ownEntries(dataDir: string): string[] {
  return readdirSync(dataDir)
    .filter((name) => ours.test(name))
    .map((name) => join(dataDir, name));
}
