// The entries in the log folder: files of 65,536 entries each, in the form of bundles. Beside each file stands the compact
// range of the entries before it, so that a tree can be extended without the older files.
import { type FileHandle, open, readFile, rm, truncate } from "node:fs/promises";
import { join } from "node:path";
import { KeptFolder } from "../../process/kept-folder.ts";
import { entryAt, formatBundle, maxEntryBytes } from "../../tlog/tiles/bundle.ts";
import { CompactRange } from "../../tlog/tree/compact-range.ts";
import type { Tree } from "../../tlog/tree/proofs.ts";
import { treeHasher } from "../crypto.ts";

/** A tree that the log has signed. */
export interface SignedTree extends Tree {
  /** The exact bytes of the checkpoint. */
  note: Uint8Array;
}

/** How many entries each file has, except the newest: as many as a full tile of level 1 covers. */
export const segmentEntries = 65_536;

/** Files of the folder are missing, cut off or changed. */
export class FolderDamage extends Error {
  override readonly name = "FolderDamage";
  /** The tree of the checkpoint, if that is good. */
  tree: SignedTree | undefined;
}

/** How many bytes are read at once. */
const readBytes = 256 * 1024;
const rangeSuffix = ".range";

/** The name of the file in which an entry stands. */
export function segmentOf(index: number): string {
  return String(Math.floor(index / segmentEntries)).padStart(6, "0");
}

/** The files of the entries. */
export class Segments extends KeptFolder {
  pathOf(segment: string): string {
    return join(this.path, segment);
  }

  /** Stores the range of the entries before a file. @param range of a size that is a multiple of `segmentEntries` */
  async writeRange(range: CompactRange): Promise<void> {
    await this.write(`${segmentOf(range.size)}${rangeSuffix}`, range.toBytes());
  }

  /** @throws TlogError `bad_range`; Error of the file system */
  async readRange(segment: string): Promise<CompactRange> {
    return CompactRange.fromBytes(await readFile(`${this.pathOf(segment)}${rangeSuffix}`), treeHasher);
  }

  /** Whether there is any file of entries. */
  async hasEntries(): Promise<boolean> {
    return (await this.names()).some((name) => /^\d+$/.test(name));
  }

  /**
   * Reads the first `count` entries of a file, in steps; fewer if the file has fewer.
   * @returns the entries of each step, which are valid until the next step
   * @throws TlogError `bad_bundle`; Error of the file system
   */
  async *read(segment: string, count: number): AsyncGenerator<Uint8Array[]> {
    const file = await open(this.pathOf(segment), "r");
    try {
      const buffer = new Uint8Array(readBytes + maxEntryBytes + 2);
      let rest = 0;
      for (let left = count; left > 0; ) {
        const { bytesRead } = await file.read(buffer, rest, readBytes);
        const bytes = buffer.subarray(0, rest + bytesRead);
        const entries: Uint8Array[] = [];
        let at = 0;
        while (entries.length < left) {
          const entry = entryAt(bytes, at);
          if (entry === undefined) break;
          entries.push(entry);
          at += 2 + entry.length;
        }
        if (bytesRead === 0 && entries.length === 0) return;
        left -= entries.length;
        yield entries;
        rest = bytes.length - at;
        buffer.copyWithin(0, at, bytes.length);
      }
    } finally {
      await file.close();
    }
  }

  /** Drops what follows the first `bytes` bytes of a file, and the files after it. Without a file, it drops all files. */
  async dropAfter(segment: string | undefined, bytes: number): Promise<void> {
    for (const name of await this.names()) {
      const [number = ""] = name.split(".");
      if (/^\d+$/.test(number) && (segment === undefined || number > segment)) await rm(join(this.path, name));
    }
    if (segment !== undefined) await truncate(this.pathOf(segment), bytes);
  }
}

/**
 * Entries that are appended after the newest checkpoint. They count when a checkpoint covers them. Until then, the next start
 * or the next extension drops them.
 */
export class Extension {
  /** The range of all entries, with those that were appended. */
  readonly range: CompactRange;
  readonly #segments: Segments;
  #file: FileHandle | undefined;
  #bytes: number;

  /**
   * @param range of the entries up to the checkpoint
   * @param bytes how many bytes they have in the newest file
   */
  constructor(segments: Segments, range: CompactRange, bytes: number) {
    this.#segments = segments;
    this.range = range.clone();
    this.#bytes = bytes;
  }

  /** How many bytes the newest file has now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** @throws FolderDamage if the newest file is missing or cut off; Error of the file system */
  async append(entries: readonly Uint8Array[]): Promise<void> {
    for (let at = 0; at < entries.length; ) {
      const { size } = this.range;
      const within = size % segmentEntries;
      if (within === 0) await this.#begin(segmentOf(size));
      this.#file ??= await this.#continue(segmentOf(size));
      const part = entries.slice(at, at + segmentEntries - within);
      const bytes = formatBundle(part);
      await writeAll(this.#file, bytes, this.#bytes);
      this.#bytes += bytes.length;
      this.range.appendAll(part);
      at += part.length;
    }
  }

  /** Resolves when the entries are on the disk. After a failure the extension must not be used any more. */
  async sync(): Promise<void> {
    const file = this.#file;
    this.#file = undefined;
    try {
      await file?.sync();
    } finally {
      await file?.close();
    }
  }

  /** Gives the extension up. */
  async close(): Promise<void> {
    await this.#file?.close().catch(() => {});
    this.#file = undefined;
  }

  async #begin(segment: string): Promise<void> {
    await this.sync();
    await this.#segments.writeRange(this.range);
    this.#file = await this.#segments.open(segment);
    await this.#file.truncate(0);
    this.#bytes = 0;
  }

  async #continue(segment: string): Promise<FileHandle> {
    const path = this.#segments.pathOf(segment);
    const file = await open(path, "r+").catch((error: NodeJS.ErrnoException) => {
      throw error.code === "ENOENT" ? new FolderDamage(`${path} is missing`) : error;
    });
    try {
      if ((await file.stat()).size < this.#bytes) throw new FolderDamage(`${path} was cut off`);
      // What follows is from an extension that was given up.
      await file.truncate(this.#bytes);
      return file;
    } catch (error) {
      await file.close();
      throw error;
    }
  }
}

async function writeAll(file: FileHandle, bytes: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < bytes.length; ) {
    at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten;
  }
}
