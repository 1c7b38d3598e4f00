import { chown, constants, type FileHandle, open, readdir, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "./make-folder.ts";
import { syncFolder, unfinishedSuffix, writeWhole } from "./whole-file.ts";

/** How old an unfinished file must be to be removed, in milliseconds. Another process may still write a younger one. */
const staleMs = 60_000;

/** The account that files belong to; undefined: that of this process. */
export type Owner = { uid: number; gid: number } | undefined;

/**
 * A folder with files that must outlive the database. If root runs this, they belong to the owner of the folder above.
 * Nothing blocks the event loop.
 */
export class KeptFolder {
  readonly path: string;

  constructor(path: string) {
    this.path = path;
  }

  /** Creates the folder if it is missing. @returns the owner of the files in it */
  async make(): Promise<Owner> {
    const parent = dirname(this.path);
    await makeFolder(parent, 0o700);
    const isRoot = process.getuid?.() === 0;
    const { uid, gid } = await stat(parent);
    const owner = isRoot && uid !== 0 ? { uid, gid } : undefined;
    if (!(await makeFolder(this.path, 0o700))) return owner;
    if (owner !== undefined) await chown(this.path, owner.uid, owner.gid);
    await syncFolder(parent);
    return owner;
  }

  /** Writes a file to the disk. After a crash of the machine it is complete, or as it was before. @returns its path */
  async write(name: string, bytes: Uint8Array): Promise<string> {
    const owner = await this.make();
    const path = join(this.path, name);
    await writeWhole(path, (write) => write(Buffer.from(bytes)), owner);
    return path;
  }

  /** Opens a file for reading and writing; creates it if it is missing. */
  async open(name: string): Promise<FileHandle> {
    const owner = await this.make();
    const path = join(this.path, name);
    const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
    try {
      if (owner !== undefined) await file.chown(owner.uid, owner.gid);
      await syncFolder(this.path);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }

  /** The names of the files; none if there is no folder. */
  async names(): Promise<string[]> {
    return readdir(this.path).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    });
  }

  /** Removes the unfinished files that crashes have left. */
  async sweep(): Promise<void> {
    const names = await this.names().catch(() => []);
    for (const name of names.filter((each) => each.endsWith(unfinishedSuffix))) {
      const path = join(this.path, name);
      const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: Number.POSITIVE_INFINITY };
      if (mtimeMs < Date.now() - staleMs) await rm(path, { force: true }).catch(() => {});
    }
  }
}
