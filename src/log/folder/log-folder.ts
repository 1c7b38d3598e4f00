import { readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { takeLock } from "../../process/folder-lock.ts";
import { KeptFolder } from "../../process/kept-folder.ts";
import { makeFolder } from "../../process/make-folder.ts";
import { syncFolder } from "../../process/whole-file.ts";
import { equalBytes, toHex, toUtf8 } from "../../tlog/encoding.ts";
import { TlogError } from "../../tlog/error.ts";
import { openCheckpoint } from "../../tlog/notes/checkpoint.ts";
import type { NoteKey } from "../../tlog/notes/key.ts";
import { CompactRange } from "../../tlog/tree/compact-range.ts";
import { treeHasher, verifyEd25519 } from "../crypto.ts";
import { Extension, FolderDamage, Segments, type SignedTree, segmentEntries, segmentOf } from "./segments.ts";

/** What the folder has up to its checkpoint. */
interface Stored {
  tree: SignedTree | undefined;
  range: CompactRange;
  /** How many bytes the entries have in the newest file. */
  bytes: number;
}

const checkpointName = "checkpoint";
/** What stands in the place of the checkpoint before the first. An empty file would look like one that was cut off. */
export const begunMark = toUtf8("no checkpoint yet\n");

/**
 * The folder in which a replica keeps the newest note that it has published, and the entries of that tree. It is outside the
 * database, so a restored backup does not take it back. One process uses it at a time.
 */
export class LogFolder {
  readonly path: string;
  readonly #folder: KeptFolder;
  readonly #segments: Segments;
  readonly #unlock: () => void;
  #stored: Stored | undefined;

  /**
   * Locks the folder, checks what it has against its checkpoint, and drops entries beyond that.
   * @param key the key of the log
   * @throws DataFolderInUse; FolderDamage; Error of the file system
   */
  static async open(path: string, key: NoteKey): Promise<LogFolder> {
    const folder = new KeptFolder(path);
    await folder.make();
    const unlock = await takeLock(path);
    try {
      await folder.sweep();
      const segments = new Segments(join(path, "entries"));
      await segments.sweep();
      return new LogFolder(folder, segments, unlock, await load(folder, segments, key));
    } catch (error) {
      unlock();
      throw error;
    }
  }

  /** Whether something was published from a folder, or may have been: it may be damaged. */
  static async isOfLog(path: string): Promise<boolean> {
    try {
      const note = await readNote(path);
      return note === undefined ? await new Segments(join(path, "entries")).hasEntries() : !equalBytes(note, begunMark);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOTDIR") return false;
      throw error;
    }
  }

  private constructor(folder: KeptFolder, segments: Segments, unlock: () => void, stored: Stored | undefined) {
    this.path = folder.path;
    this.#folder = folder;
    this.#segments = segments;
    this.#unlock = unlock;
    this.#stored = stored;
  }

  /** The newest tree whose checkpoint and entries are here; undefined before the first. */
  get tree(): SignedTree | undefined {
    return this.#stored?.tree;
  }

  /** The number of entries after which the next one is appended; undefined before `begin`. */
  get size(): number | undefined {
    return this.#stored?.range.size;
  }

  /**
   * Begins a folder that has no checkpoint.
   * @param range the entries that it will not have; their number is a multiple of `segmentEntries`
   */
  async begin(range: CompactRange): Promise<void> {
    await this.#segments.make();
    await this.#segments.dropAfter(undefined, 0);
    // Entries without this mark and without a checkpoint mean that the checkpoint was lost.
    await this.#folder.write(checkpointName, begunMark);
    this.#stored = { tree: undefined, range, bytes: 0 };
  }

  /**
   * Begins to append entries after the checkpoint. Only the newest extension may be used: it overwrites what earlier ones have
   * appended and nobody has adopted.
   * @throws Error before `begin`
   */
  extend(): Extension {
    if (this.#stored === undefined) throw new Error("the log folder was not begun");
    return new Extension(this.#segments, this.#stored.range, this.#stored.bytes);
  }

  /**
   * Stores the checkpoint of entries that were appended and are on the disk.
   * @param tree the tree of all entries of the extension
   * @throws Error of the file system
   */
  async adopt(extension: Extension, tree: SignedTree): Promise<void> {
    await this.#folder.write(checkpointName, tree.note);
    this.#stored = { tree, range: extension.range, bytes: extension.bytes };
  }

  /**
   * Reads the entries from `from` to before `to`, in steps. The entries of a step are valid until the next step.
   * @throws FolderDamage if the folder does not have them; Error of the file system
   */
  async *entries(from: number, to: number): AsyncGenerator<Uint8Array[]> {
    for (let at = from; at < to; ) {
      const first = at - (at % segmentEntries);
      const end = Math.min(to, first + segmentEntries);
      let index = first;
      for await (const entries of readSegment(this.#segments, segmentOf(at), end - first)) {
        yield entries.slice(Math.max(at - index, 0));
        index += entries.length;
      }
      at = end;
    }
  }

  /** The range of the first `size` entries. @throws FolderDamage if the folder cannot give it; Error of the file system */
  async rangeOf(size: number): Promise<CompactRange> {
    if (size === 0) return new CompactRange(treeHasher);
    const segment = segmentOf(size - 1);
    const range = await this.#segments.readRange(segment).catch((error) => {
      throw asDamage(error, `${this.#segments.pathOf(segment)}.range`);
    });
    for await (const entries of readSegment(this.#segments, segment, size - range.size)) range.appendAll(entries);
    return range;
  }

  /**
   * Moves the entries and the checkpoint of a log that has ended to the folder `name` in this one. If it is interrupted, it can
   * be done again: a folder that has only one of the two counts as damaged, and keeps it.
   * @throws DataFolderInUse; Error of the file system
   */
  static archive(path: string, name: string): Promise<void> {
    return whileUnused(path, async () => {
      await makeFolder(join(path, name), 0o700);
      for (const each of ["entries", checkpointName]) {
        await rename(join(path, each), join(path, name, each)).catch((error: NodeJS.ErrnoException) => {
          if (error.code !== "ENOENT") throw error;
        });
      }
      for (const changed of [join(path, name), path]) await syncFolder(changed);
    });
  }

  /** Removes checkpoint and entries of a folder that was damaged. @throws DataFolderInUse; Error of the file system */
  static discard(path: string): Promise<void> {
    return whileUnused(path, async () => {
      await rm(join(path, checkpointName), { force: true });
      await rm(join(path, "entries"), { recursive: true, force: true });
    });
  }

  close(): void {
    this.#unlock();
  }
}

/** Locks a folder, and does something with it. @throws DataFolderInUse */
async function whileUnused(path: string, work: () => Promise<void>): Promise<void> {
  const unlock = await takeLock(path);
  try {
    await work();
  } finally {
    unlock();
  }
}

/** Reads the first entries of a file, in steps. @throws FolderDamage if it has fewer; Error of the file system */
async function* readSegment(segments: Segments, segment: string, count: number): AsyncGenerator<Uint8Array[]> {
  let read = 0;
  try {
    for await (const entries of segments.read(segment, count)) {
      read += entries.length;
      yield entries;
    }
  } catch (error) {
    throw asDamage(error, segments.pathOf(segment));
  }
  if (read < count) throw new FolderDamage(`${segments.pathOf(segment)} was cut off`);
}

/** What is in the place of the checkpoint; undefined if nothing is. @throws Error of the file system */
export async function readNote(path: string): Promise<Buffer | undefined> {
  const note = await readFile(join(path, checkpointName)).catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  // Earlier versions began a folder with an empty file.
  return note?.length === 0 ? undefined : note;
}

/** @returns undefined before the first checkpoint. @throws FolderDamage; Error of the file system */
async function load(folder: KeptFolder, segments: Segments, key: NoteKey): Promise<Stored | undefined> {
  const path = join(folder.path, checkpointName);
  const note = await readNote(folder.path);
  if (note === undefined) {
    if (await segments.hasEntries()) throw new FolderDamage(`${path} is missing or empty`);
    return undefined;
  }
  if (equalBytes(note, begunMark)) return undefined;
  let tree: SignedTree;
  try {
    const { size, root } = (await openCheckpoint(note, [key], verifyEd25519)).checkpoint;
    tree = { size, root, note };
  } catch (error) {
    throw asDamage(error, path);
  }
  if (tree.size === 0) throw new FolderDamage(`${path} is of an empty tree`);
  try {
    return await readTree(segments, tree);
  } catch (error) {
    if (error instanceof FolderDamage) error.tree = tree;
    throw error;
  }
}

/** Hashes the entries of the newest file onto the range before them, which must give the root of the checkpoint. */
async function readTree(segments: Segments, tree: SignedTree): Promise<Stored> {
  const segment = segmentOf(tree.size - 1);
  const path = segments.pathOf(segment);
  let range: CompactRange;
  try {
    range = await segments.readRange(segment);
  } catch (error) {
    throw asDamage(error, `${path}.range`);
  }
  const first = Number(segment) * segmentEntries;
  if (range.size !== first) throw new FolderDamage(`${path}.range is of another file`);
  let bytes = 0;
  for await (const entries of readSegment(segments, segment, tree.size - first)) {
    range.appendAll(entries);
    bytes += entries.reduce((sum, { length }) => sum + 2 + length, 0);
  }
  if (!equalBytes(range.root(), tree.root)) {
    throw new FolderDamage(`${path} does not have the entries of the checkpoint: their root is ${toHex(range.root())}`);
  }
  await segments.dropAfter(segment, bytes);
  return { tree, range, bytes };
}

/** What is thrown for an error of reading: FolderDamage if the file is missing or malformed, else the error itself. */
function asDamage(error: unknown, path: string): unknown {
  if (error instanceof TlogError) return new FolderDamage(`${path}: ${error.message}`);
  if ((error as NodeJS.ErrnoException).code === "ENOENT") return new FolderDamage(`${path} is missing`);
  return error;
}
