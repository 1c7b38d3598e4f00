import { execFileSync } from "node:child_process";
import { statSync } from "node:fs";
import type { Account } from "./account.ts";

/**
 * Gives files and folders, with their content, to an account. Symbolic links are not followed. The program chown walks
 * folders by their descriptors, so nobody can redirect it by replacing a folder meanwhile.
 */
export function handOver({ uid, gid }: Pick<Account, "uid" | "gid">, paths: readonly string[]): void {
  if (paths.length > 0) execFileSync("chown", ["-hR", `${uid}:${gid}`, "--", ...paths], { stdio: "pipe" });
}

/** To whom a file belongs that root makes in a folder: the owner of the folder. Undefined if nothing is to be changed. */
export function ownerIn(folder: string): Pick<Account, "uid" | "gid"> | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const { uid, gid } = statSync(folder);
  return uid === 0 ? undefined : { uid, gid };
}
