// Replicas remember the newest receipt that they served in files. The files lie outside the database, so that they
// survive when an older copy replaces the database. The name of a file has the seq and the hash: replicas that share a
// folder never overwrite each other's files. A file is removed only when a newer one exists.
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { KeptFolder } from "../../process/kept-folder.ts";
import { isHash } from "../../receipt/document.ts";
import { parseHead } from "../../receipt/head-text.ts";
import type { Head } from "../../receipt/recovery.ts";

/** A head that was served, with the recoveries of its chain, which are needed to compare it with a chain later. */
export interface ServedHead extends Head {
  /** The hashes of the recoveries in its chain, up to this head. */
  recoveries: readonly string[];
}

/** The content of a file. */
interface HeadRecord extends ServedHead {
  /** The hash of receipt 1. */
  ledger: string;
  /** The address of the database, for people, and to notice when an empty database has replaced it. */
  database: string;
}

export interface HeadFile extends HeadRecord {
  path: string;
}

/** How many characters of each hash the name of a file has. */
const prefixLength = 16;

/** The folder of these files. Reading and writing never block the event loop. */
export class HeadFolder {
  readonly path: string;
  readonly #files: KeptFolder;
  /** The address of the database, as the files name it. */
  readonly database: string;

  /** @param path is created by the first write if it is missing */
  constructor(path: string, database: string) {
    this.path = path;
    this.#files = new KeptFolder(join(path, "heads"));
    this.database = database;
  }

  /**
   * Reads the files of all ledgers.
   * @returns the files that are valid, and the paths of those that are not
   * @throws Error when the folder exists and cannot be read
   */
  async read(): Promise<{ heads: HeadFile[]; damaged: string[] }> {
    const names = await this.#files.names();
    const heads: HeadFile[] = [];
    const damaged: string[] = [];
    for (const name of names.filter((each) => each.endsWith(".json")).sort()) {
      const path = join(this.#files.path, name);
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
    return path.startsWith(join(this.#files.path, `${ledger.slice(0, prefixLength)}-`));
  }

  /**
   * Writes a head. After a crash of the machine the file is complete or does not exist.
   * @throws Error when it cannot be written
   */
  async write(record: HeadRecord): Promise<HeadFile> {
    const { ledger, seq, hash, recoveries, database } = record;
    const name = `${ledger.slice(0, prefixLength)}-${seq}-${hash.slice(0, prefixLength)}.json`;
    const text = JSON.stringify({ v: 1, ledger, seq, hash, recoveries, database, time: new Date().toISOString() });
    const path = await this.#files.write(name, Buffer.from(`${text}\n`));
    return { ...record, path };
  }

  /** Removes files. Some may already be gone. */
  async remove(paths: readonly string[]): Promise<void> {
    for (const path of paths) await rm(path, { force: true });
  }

  /** Removes the unfinished files that crashes have left. */
  async sweep(): Promise<void> {
    await this.#files.sweep();
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
