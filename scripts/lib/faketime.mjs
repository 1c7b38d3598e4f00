// The library that gives a test process its own clock.
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The path of libfaketime for programs with threads, as Debian has it; or undefined. */
export function findFaketime() {
  const root = "/usr/lib";
  const folders = existsSync(root) ? readdirSync(root) : [];
  const candidates = ["", ...folders].map((folder) => join(root, folder, "faketime", "libfaketimeMT.so.1"));
  return candidates.find((path) => existsSync(path));
}
