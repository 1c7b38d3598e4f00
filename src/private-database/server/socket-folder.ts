// The folder of the server's socket and temporary files. Its path is short. Only the server's account can enter it,
// because the database has no password.
import { spawnSync } from "node:child_process";
import { chownSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Account } from "../../process/account.ts";

/** The longest socket path that every supported system accepts (macOS 103, Linux 107). */
const maxSocketPath = 103;
/** The folder in it where `confine` mounts the data folder for the server. */
export const mountPoint = "data";
/** Never removes mounted data: if the mount point is not empty, nothing is removed. */
const removal = `rmdir -- "$1/${mountPoint}" 2>/dev/null; [ -e "$1/${mountPoint}" ] || rm -rf -- "$1"`;

export function socketIn(socketFolder: string): string {
  return join(socketFolder, "server.sock");
}

/** @param account the account of the server; undefined means this process's own account */
export function makeSocketFolder(account: Account | undefined): string {
  // Root's temporary folder may be closed to the server's account.
  const isShort = join(tmpdir(), "stoa-db-000000/server.sock.lock").length <= maxSocketPath;
  const folder = mkdtempSync(join(account === undefined && isShort ? tmpdir() : "/tmp", "stoa-db-"));
  if (account !== undefined) chownSync(folder, account.uid, account.gid);
  return folder;
}

/** Removes the folder as the server's account, which could otherwise use links to make root remove other files. */
export function removeSocketFolder(folder: string, account: Account | undefined): void {
  if (!/^stoa-db-\w{6}$/.test(basename(folder))) return;
  const as = account === undefined ? {} : { uid: account.uid, gid: account.gid };
  spawnSync("sh", ["-c", removal, "sh", folder], { ...as, cwd: "/", stdio: "ignore" });
}
