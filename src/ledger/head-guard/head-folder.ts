// Replicas remember the newest receipt that they served in files. The files lie outside the database, so that they
// survive when an older copy replaces the database. The name of a file has the seq and the hash: replicas that share a
// folder never overwrite each other's files. A file is removed only when a newer one exists.
import { chown, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { makeFolder } from "../../process/make-folder.ts";
import { syncFolder, unfinishedSuffix, writeWhole } from "../../process/whole-file.ts";
import { isHash } from "../../receipt/document.ts";
import { parseHead } from "../../receipt/head-text.ts";
import type { Head } from "../../receipt/recovery.ts";

/** A head that was served, with the recoveries of its chain, which are needed to compare it with a chain later. */
export interface ServedHead extends Head {
  /** The hashes of the recoveries in its chain, up to this head. */
  recoveries: readonly string[];
}

/** The content of a file. */
export interface HeadRecord extends ServedHead {
  /** The hash of receipt 1. */
  ledger: string;
  /** The address of the database, for people, and to notice when an empty database has replaced it. */
  database: string;
}

export interface HeadFile extends HeadRecord {
  path: string;
}

/** How many characters of a hash the name of a file has. */
const prefixLength = 16;
/** An unfinished file is removed after this, in milliseconds. Until then another process may be writing it. */
const staleMs = 60_000;

/** The folder of these files. Reading and writing never block the event loop. */
export class HeadFolder {
  readonly path: string;
  readonly #files: string;
  /** The address of the database, as the files name it. */
  readonly database: string;

  /** @param path is created by the first write if it is missing */
  constructor(path: string, database: string) {
    this.path = path;
    this.#files = join(path, "heads");
    this.database = database;
  }

  /**
   * Reads the files of all ledgers.
   * @returns the files that are valid, and the paths of those that are not
   * @throws Error when the folder exists and cannot be read
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
      if (typeof text !== "string" && text.code === "ENOENT") continue; // it was removed since the folder was listed
      const record = typeof text === "string" ? parse(text) : undefined;
      if (record === undefined) damaged.push(path);
      else heads.push({ ...record, path });
    }
    return { heads, damaged };
  }

  /** Whether a file belongs to this ledger, by its name. */
  isNamedFor(path: string, ledger: string): boolean {
    return path.startsWith(join(this.#files, `${ledger.slice(0, prefixLength)}-`));
  }

  /**
   * Writes a head. After a crash of the machine the file is complete or does not exist.
   * @throws Error when it cannot be written
   */
  async write(record: HeadRecord): Promise<HeadFile> {
    const owner = await this.#make();
    const { ledger, seq, hash, recoveries, database } = record;
    const path = join(this.#files, `${ledger.slice(0, prefixLength)}-${seq}-${hash.slice(0, prefixLength)}.json`);
    const text = JSON.stringify({ v: 1, ledger, seq, hash, recoveries, database, time: new Date().toISOString() });
    await writeWhole(path, (write) => write(Buffer.from(`${text}\n`)), owner);
    return { ...record, path };
  }

  /** Removes files. Some may already be gone. */
  async remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) await rm(path, { force: true });
  }

  /** Removes the unfinished files that crashes have left. */
  async sweep(): Promise<void> {
    const names = await readdir(this.#files).catch(() => []);
    for (const name of names.filter((each) => each.endsWith(unfinishedSuffix))) {
      const path = join(this.#files, name);
      const { mtimeMs } = (await stat(path).catch(() => undefined)) ?? { mtimeMs: Number.POSITIVE_INFINITY };
      if (mtimeMs < Date.now() - staleMs) await rm(path, { force: true }).catch(() => {});
    }
  }

  /** Creates the folder. @returns the owner of the files, if root writes into the folder of another account */
  async #make(): Promise<{ uid: number; gid: number } | undefined> {
    await makeFolder(this.path, 0o700);
    const isRoot = process.getuid?.() === 0;
    const { uid, gid } = await stat(this.path);
    const owner = isRoot && uid !== 0 ? { uid, gid } : undefined;
    if (!(await makeFolder(this.#files, 0o700))) return owner;
    if (owner !== undefined) await chown(this.#files, owner.uid, owner.gid);
    await syncFolder(dirname(this.#files));
    return owner;
  }
}

/** The settings that identify a database. */
interface DatabaseAddress {
  socketPath?: string | undefined;
  host?: string | undefined;
  port?: number | undefined;
  database: string;
}

/** The folder in which this replica remembers the newest receipt that it served. */
export function headFolder({
  dataDir,
  database,
}: {
  dataDir: string;
  database: DatabaseAddress | undefined;
}): HeadFolder {
  return new HeadFolder(dataDir, database === undefined ? "private" : nameOf(database));
}

/** The name leaves out the account, because several accounts may use one database. */
function nameOf({ socketPath, host, port, database }: DatabaseAddress): string {
  return `${socketPath ?? `${host ?? "127.0.0.1"}:${port ?? 3306}`}/${database}`;
}

function parse(text: string): HeadRecord | undefined {
  const head = parseHead(text);
  if (head === undefined) return undefined;
  const { v, ledger, seq, hash, recoveries, database } = head;
  if (v !== 1 || typeof database !== "string" || !isHash(ledger)) return undefined;
  if (!Array.isArray(recoveries) || !recoveries.every(isHash)) return undefined;
  return { ledger, seq, hash, recoveries, database };
}
