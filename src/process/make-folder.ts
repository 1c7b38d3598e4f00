import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/**
 * Creates a folder and the missing folders above it. Node's own `recursive` loops for ever on a file system that
 * answers ENOENT although the parent folder exists, as /proc does.
 * @param mode the permissions of each folder that is created
 * @returns false if the folder existed
 * @throws Error of the file system, with the code ENOTDIR or EEXIST if a file is in the way
 */
export async function makeFolder(path: string, mode: number): Promise<boolean> {
  try {
    return await makeOne(path, mode);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT" || dirname(path) === path) throw error;
  }
  await makeFolder(dirname(path), mode);
  return makeOne(path, mode);
}

async function makeOne(path: string, mode: number): Promise<boolean> {
  try {
    await mkdir(path, { mode });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST" || !(await isFolder(path))) throw error;
    return false;
  }
}

async function isFolder(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined);
  return found?.isDirectory() === true;
}
