import { randomBytes } from "node:crypto";
import { open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";

/** The suffix of a file that is still being written. */
export const unfinishedSuffix = ".new";

/**
 * Writes a file that only its owner may read. The file gets its name when it is complete and on the disk. Until then an
 * older file of this name stays.
 * @param work writes the content
 * @param owner the account that the file belongs to; by default that of this process
 * @returns the result of `work`
 * @throws Error when the file cannot be written; the errors of `work`
 */
export async function writeWhole<Result>(
  path: string,
  work: (write: (bytes: Buffer) => Promise<void>) => Promise<Result>,
  owner?: { uid: number; gid: number },
): Promise<Result> {
  const unfinished = `${path}.${randomBytes(4).toString("hex")}${unfinishedSuffix}`;
  const file = await open(unfinished, "wx", 0o600);
  let result: Result;
  try {
    result = await work(async (bytes) => {
      await file.appendFile(bytes);
    });
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
    await file.sync();
    await file.close();
    await rename(unfinished, path);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(unfinished, { force: true }).catch(() => {});
    throw error;
  }
  await syncFolder(dirname(path));
  return result;
}

/** Makes the entries of a folder durable, such as a rename. */
export async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
