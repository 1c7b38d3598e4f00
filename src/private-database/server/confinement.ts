// The database server never runs as root. If root starts it, it runs as an unprivileged account. If that account cannot
// reach the data folder (for example in /root), the folder is mounted at another path, which only the server sees.
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import type { Account } from "../../process/account.ts";
import { firstUnreadable } from "../../process/unreadable.ts";
import { mountPoint } from "./scratch-folder.ts";

/** A program with its arguments, and how it is spawned. */
export interface Command {
  readonly command: string;
  readonly args: string[];
  readonly options: { uid?: number; gid?: number; cwd?: string };
}

export interface Confinement {
  /** The path of the data folder for the program. */
  readonly folder: string;
  wrap(command: string, args: string[]): Command;
}

const mountAndRun = `mount --bind -- "$1" "$2" && shift 2 && exec "$@"`;

/**
 * Decides how to run programs that work on `folder`.
 * @param account the account that runs them; undefined means this process's own account
 * @param scratch the folder of `makeScratch`
 * @throws Error when the account cannot be given access
 */
export function confine(account: Account | undefined, folder: string, scratch: string): Confinement {
  if (account === undefined) return { folder, wrap: (command, args) => ({ command, args, options: {} }) };
  const { uid, gid, name } = account;
  if (firstUnreadable(account, [folder]) === undefined) {
    return { folder, wrap: (command, args) => ({ command, args, options: { uid, gid, cwd: "/" } }) };
  }
  const mounted = join(scratch, mountPoint);
  mkdirSync(mounted, { recursive: true });
  const become = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--no-new-privs", "--"];
  const wrap = (command: string, args: string[]): Command => ({
    command: "unshare",
    args: ["--mount", "--propagation=private", "--"].concat(["sh", "-c", mountAndRun, "sh", folder, mounted], become, [
      command,
      ...args,
    ]),
    options: { cwd: "/" },
  });
  const trial = wrap("true", []);
  const { status, stderr, error } = spawnSync(trial.command, trial.args, { ...trial.options, encoding: "utf8" });
  if (status !== 0) {
    const detail = error?.message ?? stderr.trim().split("\n")[0];
    throw new Error(
      `the account ${name}, which runs the database server, cannot reach ${folder}, and the folder cannot be mounted for it` +
        ` (${detail}); set STOA_DATA_DIR to a folder that every account can reach, such as /var/lib/stoa`,
    );
  }
  return { folder: mounted, wrap };
}
