// The data folder: what is in it, how it is created, and who owns it when root starts the service.
import { chmodSync, existsSync, lchownSync, readdirSync } from "node:fs";
import { realpath } from "node:fs/promises";
import { join } from "node:path";
import type { Account } from "../process/account.ts";
import { takeLock } from "../process/folder-lock.ts";
import { makeFolder } from "../process/make-folder.ts";
import { handOver } from "../process/ownership.ts";
import { stopStaleServer } from "./server/running-server.ts";

/** The names of all files and folders that Stoa creates in a data folder, including the lock of the set-up. */
const ours =
  /^(?:mysql|mysql\.new-\w{6}|mysql\.(?:json(?:\.new)?|pid|lock|log(?:\.1)?)|lock(?:\.[\w.-]+)?|setup\.lock|heads|log)$/;

/**
 * Creates the folder if it is missing. This must be the first access to the folder: unlike later ones, it does not
 * block the process if the file system does not answer.
 * @returns its real path
 * @throws Error with one line that names the setting
 */
export async function makeDataFolder(path: string): Promise<string> {
  try {
    await makeFolder(path, 0o700);
    return await realpath(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const isTaken = code === "EEXIST" || code === "ENOTDIR";
    const why = isTaken ? "because a file is in its place or above it" : `(${code})`;
    throw new Error(`STOA_DATA_DIR is ${path}, and this folder cannot be created ${why}; name another folder`);
  }
}

/** The folder of the private server's data. */
export function databaseIn(dataDir: string): string {
  return join(dataDir, "mysql");
}

/** An entry of the folder that this program did not create; undefined if there is none. */
export function foreignEntry(dataDir: string): string | undefined {
  return readdirSync(dataDir).find((name) => !ours.test(name));
}

/**
 * Gives a data folder and Stoa's own files in it to the account that will use it. A server that an earlier service left
 * running is stopped first.
 * @throws DataFolderInUse; Error when that server cannot be stopped
 */
export async function giveDataFolder(dataDir: string, account: Account, log: (line: string) => void): Promise<void> {
  const unlock = await takeLock(dataDir);
  try {
    await stopStaleServer(dataDir, log);
    const names = readdirSync(dataDir).filter((name) => ours.test(name));
    handOver(
      account,
      names.map((name) => join(dataDir, name)),
    );
    chmodSync(dataDir, 0o700);
    lchownSync(dataDir, account.uid, account.gid);
  } finally {
    unlock();
  }
}

/**
 * When the service stays root: gives only the database to the account of its server. Root keeps the data folder, so
 * that the server cannot place links there that root would follow. The caller holds the lock.
 */
export function giveDatabase(dataDir: string, account: Account): void {
  if (existsSync(databaseIn(dataDir))) handOver(account, [databaseIn(dataDir)]);
  if (foreignEntry(dataDir) !== undefined) return;
  lchownSync(dataDir, 0, 0);
  chmodSync(dataDir, 0o711);
}
