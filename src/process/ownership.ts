import { execFileSync } from "node:child_process";
import type { Account } from "./account.ts";

/**
 * Gives files and folders, with their content, to an account. Symbolic links are not followed: chown walks the folders by
 * their descriptors, so that nobody can redirect it meanwhile.
 */
export function handOver({ uid, gid }: Pick<Account, "uid" | "gid">, paths: readonly string[]): void {
  if (paths.length > 0) execFileSync("chown", ["-hR", `${uid}:${gid}`, "--", ...paths], { stdio: "pipe" });
}
