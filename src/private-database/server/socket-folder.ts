// The folder of the server's socket and temporary files: short, and only open to the server's account, since the database
// has no password.
import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Account } from "../../process/account.ts";

/** The longest socket path that every supported system accepts (macOS 103, Linux 107). */
const maxSocketPath = 103;
/** A folder in it, where the data folder is mounted for one process; see `confine`. */
export const mountPoint = "data";
/** Never removes what is mounted: the mount point must be empty. */
const removal = `rmdir -- "$1/${mountPoint}" 2>/dev/null; [ -e "$1/${mountPoint}" ] || rm -rf -- "$1"`;

export function socketIn(socketFolder: string): string {
  return join(socketFolder, "server.sock");
}

/** @param account the account of the server; undefined means this process's own account */
export function makeSocketFolder(account: Account | undefined): string {
  // Root's own temporary folder may be closed to others.
  const isShort = join(tmpdir(), "stoa-db-000000/server.sock.lock").length <= maxSocketPath;
  const folder = mkdtempSync(join(account === undefined && isShort ? tmpdir() : "/tmp", "stoa-db-"));
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  return folder;
}

/** Removes the folder. The server's account does it: it could lead root to other files meanwhile. */
export function removeSocketFolder(folder: string, account: Account | undefined): void {
  if (!/^stoa-db-\w{6}$/.test(basename(folder))) return;
  const as = account === undefined ? {} : { uid: account.uid, gid: account.gid };
  spawnSync("sh", ["-c", removal, "sh", folder], { ...as, cwd: "/", stdio: "ignore" });
}
