import { readFileSync, statSync } from "node:fs";

/**
 * The text of a file that a setting names. Only regular files are read: a pipe could block the process for ever.
 * @throws Error whose message follows the name of the setting
 */
export function readRegularFile(path: string): string {
  try {
    if (statSync(path).isFile()) return readFileSync(path, "utf8");
  } catch (error) {
    throw new Error(`names a file that cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
  throw new Error("names something that is not a regular file");
}

/**
 * The text of a file that nobody but its owner may read.
 * @throws Error whose message follows the name of the setting
 */
export function readPrivateFile(path: string): string {
  const text = readRegularFile(path);
  if ((statSync(path).mode & 0o077) === 0) return text;
  throw new Error(`names a file that others may read; run: chmod 600 ${path}`);
}
