// Temporary folders of the private server: for its socket, and for the creation of its data. Each holds a file that is
// locked as long as a process uses the folder, so that the folders of killed processes can be recognised and removed.
import { spawnSync } from "node:child_process";
import { chownSync, lstatSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import type { Account } from "../../process/account.ts";
import { type OsLock, tryLock, tryLockExisting } from "../lock/os-lock.ts";

export interface Scratch {
  readonly folder: string;
  /** The locked file. Processes that use the folder inherit it, because they may outlive this process. */
  readonly fd: number;
  remove(): void;
}

/** A folder in the scratch folder, where the data folder is mounted for one process. */
export const mountPoint = "data";
const lockName = "lock";
const names = /^stoa-(?:db|init)-[A-Za-z0-9]{6}$/;
/** Both steps of a removal, for the shell of another account. */
const removal = `rmdir -- "$1/${mountPoint}" 2>/dev/null; [ -e "$1/${mountPoint}" ] || rm -rf -- "$1"`;

/** Whether a path has the name of a scratch folder. */
export function isScratch(path: string): boolean {
  return names.test(basename(path));
}

/**
 * Makes a short folder for a program's socket or temporary files, open to its account alone.
 * @param usual the folder to make it in, unless another account must reach it
 */
export function makeScratch(purpose: "db" | "init", account: Account | undefined, usual = tmpdir()): Scratch {
  for (;;) {
    // Root's own temporary folder may be closed to others.
    const folder = mkdtempSync(join(account === undefined ? usual : "/tmp", `stoa-${purpose}-`));
    const lock = lockNew(folder);
    // A sweep found the folder before it was locked, and removes it.
    if (lock === undefined) continue;
    if (account !== undefined) chownSync(folder, account.uid, account.gid);
    const remove = () => {
      removeFolder(folder, account);
      lock.release();
    };
    return { folder, fd: lock.fd, remove };
  }
}

/**
 * Removes the scratch folders that no process uses any more, as after a kill. Only those of this process's account, and of
 * the server's, are looked at.
 * @param further paths outside the temporary folders that may be scratch folders
 */
export function sweepScratch(account: Account | undefined, further: readonly string[]): void {
  const folders = new Set([tmpdir(), "/tmp", ...further.filter(isScratch).map(dirname)]);
  for (const folder of folders) {
    for (const name of namesIn(folder)) if (names.test(name)) sweep(join(folder, name), account);
  }
}

function sweep(folder: string, account: Account | undefined): void {
  try {
    const { uid } = lstatSync(folder);
    if (uid !== process.getuid?.() && uid !== account?.uid) return;
    const lock = tryLockExisting(join(folder, lockName));
    if (lock === undefined) return;
    removeFolder(folder, uid === process.getuid?.() ? undefined : account);
    lock.release();
  } catch {
    // Somebody else removes it, or does things to it that a start need not care for.
  }
}

function lockNew(folder: string): OsLock | undefined {
  try {
    return tryLock(join(folder, lockName));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * The data that may be mounted in the folder are never touched. What belongs to another account is removed by that account:
 * it could lead root to other files meanwhile.
 */
function removeFolder(folder: string, account: Account | undefined): void {
  if (account !== undefined) {
    const { uid, gid } = account;
    spawnSync("sh", ["-c", removal, "sh", folder], { uid, gid, cwd: "/", stdio: "ignore" });
    return;
  }
  try {
    rmdirSync(join(folder, mountPoint));
  } catch (error) {
    // Anything but an empty folder stays.
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") return;
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
