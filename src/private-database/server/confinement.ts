// The database server never runs as root: if root starts it, it runs as an unprivileged account. If that account cannot
// reach the data folder (for example in /root), the folder is mounted at another path that only the server sees.
import { spawnSync } from "node:child_process";
import { join } from "node:path";
import type { Account } from "../../process/account.ts";
import { firstUnreadable } from "../../process/unreadable.ts";
import { mountPoint } from "./socket-folder.ts";

/** A program with its arguments, and how it is spawned. */
export interface Command {
  readonly command: string;
  readonly args: string[];
  readonly options: { uid?: number; gid?: number; cwd?: string };
}

const mountAndRun = `mkdir -p -- "$2" && mount --bind -- "$1" "$2" && shift 2 && exec "$@"`;

/**
 * Decides how to run a program that works on `folder`.
 * @param account the account that runs it; undefined means this process's own account
 * @param program gives the program and its arguments for the path at which it sees the folder
 * @throws Error when the account cannot be given access
 */
export function confine(
  account: Account | undefined,
  folder: string,
  socketFolder: string,
  program: (folder: string) => [string, ...string[]],
): Command {
  if (account === undefined) return commandOf(program(folder), {});
  const { uid, gid, name } = account;
  if (firstUnreadable(account, [folder]) === undefined) return commandOf(program(folder), { uid, gid, cwd: "/" });
  const mounted = join(socketFolder, mountPoint);
  const mount = ["--mount", "--propagation=private", "--", "sh", "-c", mountAndRun, "sh", folder, mounted];
  const become = ["setpriv", `--reuid=${uid}`, `--regid=${gid}`, "--clear-groups", "--no-new-privs", "--"];
  const inside = (words: string[]) => commandOf(["unshare", ...mount, ...become, ...words], { cwd: "/" });
  const trial = inside(["true"]);
  const { status, stderr, error } = spawnSync(trial.command, trial.args, { ...trial.options, encoding: "utf8" });
  if (status === 0) return inside(program(mounted));
  const detail = error?.message ?? stderr.trim().split("\n")[0];
  throw new Error(
    `the account ${name}, which runs the database server, cannot reach ${folder}, and the folder cannot be mounted for it` +
      ` (${detail}); set STOA_DATA_DIR to a folder that every account can reach, such as /var/lib/stoa`,
  );
}

function commandOf([command, ...args]: [string, ...string[]], options: Command["options"]): Command {
  return { command, args, options };
}
