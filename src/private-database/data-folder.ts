// The ownership of the data folder when root starts the service.
import { chmodSync, lchownSync, mkdirSync, readdirSync, realpathSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Account } from "../process/account.ts";
import { handOver } from "../process/ownership.ts";
import { takeLock } from "./lock/data-folder-lock.ts";
import { type ServerFiles, stopStaleServer } from "./server/stale-server.ts";

/** The names of everything that this program creates in a data folder, including the set-up's lock. */
const ours =
  /^(?:mysql|mysql\.new-\w{6}|mysql\.(?:json(?:\.new)?|pid|lock|log(?:\.1)?)|lock(?:\.[\w.-]+)?|setup\.lock|heads)$/;

/** The folder of the heads that were served; see `HeadFolder`. */
const headFolder = "heads";

/** Creates the folder if it is missing. @returns its real path */
export function makeDataFolder(path: string): string {
  mkdirSync(path, { recursive: true, mode: 0o700 });
  // A server is later recognised by this path on its command line.
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

/** An entry of the folder that this program did not create; undefined if there is none. */
export function foreignEntry(dataDir: string): string | undefined {
  return readdirSync(dataDir).find((name) => !ours.test(name));
}

/**
 * Gives a data folder to the account that will use it. A server that an earlier service left running is stopped first. Only
 * this program's own files change their owner.
 * @throws Error when the folder is in use
 */
export async function giveDataFolder(dataDir: string, account: Account, log: (line: string) => void): Promise<void> {
  const unlock = await takeLock(dataDir);
  try {
    const { lock } = await stopStaleServer(serverFiles(dataDir), log);
    lock.release();
    handOver(account, ownEntries(dataDir));
    chmodSync(dataDir, 0o700);
    lchownSync(dataDir, account.uid, account.gid);
  } finally {
    unlock();
  }
}

/**
 * With an external database: gives the folder to the account that will store the heads in it. A folder that belongs to
 * another account, or holds other files, is left alone. If the heads cannot be stored then, writing them reports it.
 */
export function giveHeadFolder(path: string, account: Account): void {
  const dataDir = makeDataFolder(path);
  const names = readdirSync(dataDir);
  if (statSync(dataDir).uid !== 0 || names.some((name) => name !== headFolder)) return;
  handOver(account, [dataDir]);
}

/**
 * When the service stays root: gives only the database to the account of its server. The data folder belongs to root, so
 * that the server cannot place links for root there. The caller holds the lock.
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
