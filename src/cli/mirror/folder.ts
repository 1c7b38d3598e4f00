import { renameSync, writeFileSync } from "node:fs";
import { mkdir, open, readdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { LogFinding } from "../../client/signed-log/finding.ts";
import type { LogFiles } from "../../client/signed-log/source.ts";
import { maxNoteBytes } from "../../tlog/notes/note.ts";
import { type Bundle, formatTilePath, fullWidth, type Tile } from "../../tlog/tiles/tile-path.ts";
import { partialTiles, widthAt } from "../../tlog/tiles/widths.ts";
import { makeFolder, StateError } from "../state.ts";

/** A file is first written here, so that those who read the mirror see it as a whole or not at all. */
const asideName = ".new";
/** How many files are synced at once. */
const maxUnsynced = 1024;
/** More than a bundle or a tile has. */
const maxFileBytes = 512 * 1024;

/**
 * The folder of a mirror, with the files of a log at the paths that they have on a service. All that a checkpoint needs is on
 * the disk before the checkpoint is.
 */
export class MirrorFolder implements LogFiles {
  readonly path: string;
  /** The files that may not be on the disk yet. To sync them together is faster than one by one. */
  readonly #unsynced: string[] = [];
  /** The folders whose entries have changed since the last checkpoint. */
  readonly #changed = new Set<string>();
  #written = 0;

  constructor(path: string) {
    this.path = path;
  }

  /** Makes the folder ready for writing. It must have no other writer. @throws StateError */
  async prepare(): Promise<void> {
    await this.#attempt(async () => {
      makeFolder(this.path);
      await rm(join(this.path, asideName), { recursive: true, force: true });
      await mkdir(join(this.path, asideName));
    });
  }

  checkpoint(): Promise<Uint8Array | undefined> {
    return this.#read("checkpoint", maxNoteBytes);
  }

  async tile(tile: Tile | Bundle): Promise<Uint8Array> {
    const path = formatTilePath(tile);
    const bytes = await this.find(tile);
    if (bytes === undefined) throw new LogFinding("missing_tile", `${path} is not there`);
    return bytes;
  }

  /** Reads a tile or a bundle that may be there; undefined if it is not. @throws StateError */
  find(tile: Tile | Bundle): Promise<Uint8Array | undefined> {
    return this.#read(formatTilePath(tile), maxFileBytes);
  }

  /** Writes a tile or a bundle. @throws StateError */
  async write(tile: Tile | Bundle, bytes: Uint8Array): Promise<void> {
    await this.#attempt(async () => this.#replace(formatTilePath(tile), bytes, false));
    await this.keep(tile);
  }

  /** Counts a tile or a bundle that is already there as one of the next tree. @throws StateError */
  async keep(tile: Tile | Bundle): Promise<void> {
    this.#unsynced.push(join(this.path, formatTilePath(tile)));
    if (this.#unsynced.length >= maxUnsynced) await this.#attempt(() => this.#sync());
  }

  /**
   * Makes a tree that has been written the newest one. Then it removes the partial tiles that neither this tree nor the one
   * before needs, and those that are full by now.
   * @param before the size of the tree before. @throws StateError
   */
  async publish(note: Uint8Array, before: number, size: number): Promise<void> {
    await this.#attempt(async () => {
      await this.#sync();
      for (const folder of this.#changed) await sync(folder);
      this.#changed.clear();
      this.#replace("checkpoint", note, true);
      await sync(this.path);
      for (const tile of lastTilesOf(before)) await this.#removePartial(tile, size);
    });
  }

  /** Ends the writing. */
  async close(): Promise<void> {
    await rm(join(this.path, asideName), { recursive: true, force: true });
  }

  async #removePartial(tile: Tile | Bundle, size: number): Promise<void> {
    const folder = join(this.path, `${formatTilePath({ ...tile, width: fullWidth })}.p`);
    const width = widthAt(tile.level === "entries" ? 0 : tile.level, tile.index, size);
    if (width === fullWidth) return rm(folder, { recursive: true, force: true });
    const needed = [String(tile.width), String(width)];
    for (const name of await readdir(folder)) {
      if (!needed.includes(name)) await rm(join(folder, name), { recursive: true, force: true });
    }
  }

  async #read(path: string, maxBytes: number): Promise<Uint8Array | undefined> {
    const full = join(this.path, path);
    try {
      const { size } = await stat(full);
      // No parser accepts an empty file.
      if (size > maxBytes) return new Uint8Array(0);
      return await readFile(full);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      if (code === "ENOENT") return undefined;
      throw new StateError(`the folder ${this.path} cannot be read: ${message}`);
    }
  }

  async #sync(): Promise<void> {
    await Promise.all(this.#unsynced.splice(0).map(sync));
  }

  /** It is synchronous: the threads of asynchronous calls would wait for one another at the same folder. */
  #replace(path: string, bytes: Uint8Array, isSynced: boolean): void {
    const aside = join(this.path, asideName, String(this.#written++));
    writeFileSync(aside, bytes, { flag: "wx", mode: 0o644, flush: isSynced });
    const full = join(this.path, path);
    this.#makeFolder(dirname(full));
    renameSync(aside, full);
  }

  #makeFolder(path: string): void {
    if (this.#changed.has(path)) return;
    makeFolder(path);
    for (let at = path; at !== dirname(this.path); at = dirname(at)) this.#changed.add(at);
  }

  async #attempt(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      throw new StateError(`the folder ${this.path} cannot be written: ${(error as Error).message}`);
    }
  }
}

/** The partial tiles of a tree, and its partial bundle. */
function lastTilesOf(size: number): (Tile | Bundle)[] {
  const tiles = partialTiles(size);
  return tiles.flatMap((tile) => (tile.level === 0 ? [tile, { ...tile, level: "entries" as const }] : [tile]));
}

/** Waits until a file or folder is on the disk. */
async function sync(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
