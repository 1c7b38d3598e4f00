import { spawnSync } from "node:child_process";
import type { Account } from "./account.ts";

const script = `for path; do
  if [ -d "$path" ]; then [ -r "$path" ] && [ -x "$path" ]; else [ -r "$path" ]; fi || { printf %s "$path"; exit 1; }
done`;

/**
 * The first of these files and folders that an account cannot read; undefined if it can read all of them. A process of
 * that account tries to read them, so that access control lists and containers count too.
 * @throws Error when this process may not become the account
 */
export function firstUnreadable({ uid, gid, name }: Account, paths: readonly string[]): string | undefined {
  const { status, stdout, error } = spawnSync("/bin/sh", ["-c", script, "sh", ...paths], {
    uid,
    gid,
    cwd: "/",
    encoding: "utf8",
    stdio: ["ignore", "pipe", "ignore"],
  });
  if (error !== undefined) {
    const { code = error.message } = error as NodeJS.ErrnoException;
    throw new Error(
      `this process is root, but cannot change to the account ${name} (${code}); start it as another user`,
    );
  }
  return status === 0 ? undefined : stdout;
}
