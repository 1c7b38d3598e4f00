// The files in which replicas remember the newest receipt that they served. They lie outside the database, so that they
// survive when the database is replaced by an older copy. Each file has the seq and the hash in its name: replicas that
// share a folder never overwrite each other's, and what is removed is always below something that is there.
import { randomUUID } from "node:crypto";
import { chown, mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { isHash } from "../../receipt/document.ts";
import { parseHead } from "../../receipt/head-text.ts";
import type { Head } from "../../receipt/recovery.ts";

/** A head that was served, and what must be known of its chain to compareHeads it later. */
export interface ServedHead extends Head {
  /** The hashes of the recoveries that its chain had, up to it. */
  recoveries: readonly string[];
}

/** What a file holds. */
export interface HeadRecord extends ServedHead {
  /** The hash of receipt 1. */
  ledger: string;
  /** Where the database was, for people, and to notice a database that was replaced by an empty one. */
  database: string;
}

export interface HeadFile extends HeadRecord {
  path: string;
}

/** How much of a hash a file's name has. */
const prefixLength = 16;
const aside = ".new";
/** What a crash has left half written is removed after this, in milliseconds: until then somebody may be writing it. */
const staleMs = 60_000;

/** The folder of these files. Reads and writes never block the event loop. */
export class HeadFolder {
  readonly path: string;
  readonly #files: string;
  /** How the database is named in the files. */
  readonly database: string;

  /** @param path made, if missing, by the first write */
  constructor(path: string, database: string) {
    this.path = path;
    this.#files = join(path, "heads");
    this.database = database;
  }

  /**
   * Every file that can be read, of whatever ledger; and the paths of those that cannot be understood.
   * @throws Error when the folder is there and cannot be read
   */
  async read(): Promise<{ heads: HeadFile[]; damaged: string[] }> {
    const names = await readdir(this.#files).catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return [];
      throw error;
    });
    const heads: HeadFile[] = [];
    const damaged: string[] = [];
    for (const name of names.filter((each) => each.endsWith(".json")).sort()) {
      const path = join(this.#files, name);
      const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => error);
      if (typeof text !== "string" && text.code === "ENOENT") continue; // removed meanwhile
      const record = typeof text === "string" ? parse(text) : undefined;
      if (record === undefined) damaged.push(path);
      else heads.push({ ...record, path });
    }
    return { heads, damaged };
  }

  /** Whether the name of a file says that it is of this ledger. */
  isNamedFor(path: string, ledger: string): boolean {
    return path.startsWith(join(this.#files, `${ledger.slice(0, prefixLength)}-`));
  }

  /** Writes a head so that it is there whole, after a crash of the machine too. @throws Error when that is not possible */
  async write(record: HeadRecord): Promise<HeadFile> {
    const owner = await this.#make();
    const { ledger, seq, hash, recoveries, database } = record;
    const path = join(this.#files, `${ledger.slice(0, prefixLength)}-${seq}-${hash.slice(0, prefixLength)}.json`);
    const unfinished = `${path}.${randomUUID()}${aside}`;
    try {
      const text = JSON.stringify({ v: 1, ledger, seq, hash, recoveries, database, time: new Date().toISOString() });
      await writeThrough(unfinished, `${text}\n`, owner);
      await rename(unfinished, path);
    } catch (error) {
      await rm(unfinished, { force: true }).catch(() => {});
      throw error;
    }
    await syncFolder(this.#files);
    return { ...record, path };
  }

  /** Removes files, which may be gone already. */
  async remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) await rm(path, { force: true });
  }

  /** Removes what crashes have left half written. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#files).catch(() => []);
    for (const name of names.filter((each) => each.endsWith(aside))) {
      const path = join(this.#files, name);
      const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: Number.POSITIVE_INFINITY };
      if (mtimeMs < Date.now() - staleMs) await rm(path, { force: true }).catch(() => {});
    }
  }

  /** Makes the folder. @returns whom the files are to belong to, where root writes into somebody else's folder */
  async #make(): Promise<{ uid: number; gid: number } | undefined> {
    await mkdir(this.path, { recursive: true, mode: 0o700 });
    const isRoot = process.getuid?.() === 0;
    const { uid, gid } = await stat(this.path);
    const owner = isRoot && uid !== 0 ? { uid, gid } : undefined;
    const made = await mkdir(this.#files, { recursive: true, mode: 0o700 });
    if (made === undefined) return owner;
    if (owner !== undefined) await chown(this.#files, owner.uid, owner.gid);
    await syncFolder(dirname(this.#files));
    return owner;
  }
}

async function writeThrough(path: string, text: string, owner: { uid: number; gid: number } | undefined) {
  const file = await open(path, "wx", 0o600);
  try {
    await file.writeFile(text);
    if (owner !== undefined) await file.chown(owner.uid, owner.gid);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, "r");
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function parse(text: string): HeadRecord | undefined {
  const head = parseHead(text);
  if (head === undefined) return undefined;
  const { v, ledger, seq, hash, recoveries, database } = head;
  if (v !== 1 || typeof database !== "string" || !isHash(ledger)) return undefined;
  if (!Array.isArray(recoveries) || !recoveries.every(isHash)) return undefined;
  return { ledger, seq, hash, recoveries, database };
}
