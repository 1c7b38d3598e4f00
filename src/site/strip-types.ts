import { hash } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { getCompileCacheDir, stripTypeScriptTypes } from "node:module";
import { join } from "node:path";

/**
 * Blanks out the types of TypeScript. The result is kept beside Node's compile cache, where there is one: the compiler takes 15
 * MiB of memory once it has been loaded, and a process that finds all its modules compiled does not load it.
 */
export function stripTypes(code: string): string {
  const folder = keptFolder();
  if (folder === undefined) return stripTypeScriptTypes(code);
  const file = join(folder, `${hash("sha256", `${process.version} ${code}`)}.js`);
  const kept = read(file);
  if (kept !== undefined) return kept;
  const stripped = stripTypeScriptTypes(code);
  keep(folder, file, stripped);
  return stripped;
}

/** Where results are kept; undefined without a compile cache. */
function keptFolder(): string | undefined {
  const cache = getCompileCacheDir();
  return cache === undefined ? undefined : join(cache, "browser");
}

function read(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // not kept yet, or not readable: the types are stripped again
  }
}

/** Keeps a result, or nothing where this process may not write. A file has its name only when it is whole. */
function keep(folder: string, file: string, stripped: string): void {
  try {
    mkdirSync(folder, { recursive: true });
    const part = `${file}.${process.pid}`;
    writeFileSync(part, stripped);
    renameSync(part, file);
  } catch {
    // The next start strips the types again.
  }
}
