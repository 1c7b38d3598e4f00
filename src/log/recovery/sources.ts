// Where a recovery finds what was published: the log folder of a replica, or a mirror of the log.
import { existsSync } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { sleep } from "../../timing/wait.ts";
import { parseEntry } from "../../tlog/entries/entry-text.ts";
import { TlogError } from "../../tlog/error.ts";
import { openCheckpoint } from "../../tlog/notes/checkpoint.ts";
import { type NoteKey, parseVkey } from "../../tlog/notes/key.ts";
import { maxNoteBytes } from "../../tlog/notes/note.ts";
import { maxEntryBytes, parseBundle } from "../../tlog/tiles/bundle.ts";
import { rangeOf } from "../../tlog/tiles/prove.ts";
import { formatTilePath, fullWidth, type Tile } from "../../tlog/tiles/tile-path.ts";
import { TiledTree } from "../../tlog/tiles/tiled-tree.ts";
import { widthAt } from "../../tlog/tiles/widths.ts";
import type { CompactRange } from "../../tlog/tree/compact-range.ts";
import { hashBytes } from "../../tlog/tree/hashing.ts";
import { sha256, treeHasher, verifyEd25519 } from "../crypto.ts";
import { LogFolder } from "../folder/log-folder.ts";
import { Segments, type SignedTree, segmentOf } from "../folder/segments.ts";

/** A published tree with its entries. The signature of its note is verified. The entries must still be checked. */
export interface LogSource {
  /** For messages. */
  readonly name: string;
  readonly tree: SignedTree;
  /** The range of its first `size` entries. */
  rangeOf(size: number): Promise<CompactRange>;
  /** Its entries, in steps; those of a step are valid until the next. @throws Error with one line if it lacks some */
  entries(from: number, to: number): AsyncIterable<readonly Uint8Array[]>;
  close(): void;
}

const maxBundleBytes = fullWidth * (maxEntryBytes + 2);
const fetchTimeoutMs = 30_000;

/**
 * Opens a log folder, or a mirror: a folder or an address with the same paths as the service has below /log/.
 * @throws Error with one line
 */
export async function openSource(from: string, key: NoteKey, signal: AbortSignal): Promise<LogSource> {
  if (!/^https?:\/\//.test(from) && existsSync(join(from, "entries"))) {
    const folder = await LogFolder.open(from, key);
    if (folder.tree !== undefined) return sourceOf(folder, folder.tree);
    folder.close();
    throw new Error(`the log folder ${from} has no checkpoint`);
  }
  const read = /^https?:\/\//.test(from)
    ? (path: string, maxBytes: number) => fetchBytes(`${from.replace(/\/$/, "")}/${path}`, maxBytes, signal)
    : (path: string, maxBytes: number) => readBytes(join(from, path), maxBytes);
  try {
    const note = await read("checkpoint", maxNoteBytes);
    const { size, root } = (await openCheckpoint(note, [key], verifyEd25519)).checkpoint;
    return mirrorOf(from, { size, root, note }, read);
  } catch (error) {
    if (!(error instanceof TlogError)) throw error;
    throw new Error(`${from} has no checkpoint of this log: ${error.message}`);
  }
}

/**
 * The key that the first entry in a log folder names, for a log whose key is lost. Nothing of it is verified.
 * @returns undefined if the folder does not have that entry. @throws Error of the file system
 */
export async function namedKey(path: string): Promise<NoteKey | undefined> {
  try {
    for await (const [bytes = new Uint8Array()] of new Segments(join(path, "entries")).read(segmentOf(0), 1)) {
      const entry = parseEntry(bytes);
      return entry.type === "log" ? await parseVkey(entry.vkey, sha256) : undefined;
    }
  } catch (error) {
    if (!(error instanceof TlogError) && (error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  return undefined;
}

/** An open log folder as a source. To close the source closes the folder. */
export function sourceOf(folder: LogFolder, tree: SignedTree): LogSource {
  return {
    name: folder.path,
    tree,
    rangeOf: (size) => folder.rangeOf(size),
    entries: (from, to) => folder.entries(from, to),
    close: () => folder.close(),
  };
}

function mirrorOf(
  name: string,
  tree: SignedTree,
  read: (path: string, maxBytes: number) => Promise<Uint8Array>,
): LogSource {
  async function* entries(from: number, to: number): AsyncGenerator<Uint8Array[]> {
    for (let index = Math.floor(from / fullWidth); index * fullWidth < to; index++) {
      const width = widthAt(0, index, tree.size);
      const path = formatTilePath({ level: "entries", index, width });
      let bundle: Uint8Array[];
      try {
        bundle = parseBundle(await read(path, maxBundleBytes), width);
      } catch (error) {
        if (error instanceof TlogError) throw new Error(`${path} of ${name} is damaged: ${error.message}`);
        throw error;
      }
      const first = index * fullWidth;
      yield bundle.slice(Math.max(from - first, 0), Math.min(to - first, fullWidth));
    }
  }
  return {
    name,
    tree,
    entries,
    async rangeOf(size) {
      const readTile = (tile: Tile) => read(formatTilePath(tile), tile.width * hashBytes);
      try {
        return await rangeOf(await TiledTree.open(tree, readTile, sha256), treeHasher, size);
      } catch (error) {
        if (error instanceof TlogError) throw new Error(`the tiles of ${name} are damaged: ${error.message}`);
        throw error;
      }
    },
    close: () => {},
  };
}

async function readBytes(path: string, maxBytes: number): Promise<Uint8Array> {
  const file = await open(path, "r");
  try {
    const { buffer, bytesRead } = await file.read(new Uint8Array(maxBytes + 1), 0, maxBytes + 1, 0);
    if (bytesRead > maxBytes) throw new Error(`${path} is too large`);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
  }
}

/** @throws Error with one line, which names the address; the signal's reason */
async function fetchBytes(url: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  try {
    return await fetchUpTo(url, maxBytes, signal);
  } catch (error) {
    const isOfFetch = error instanceof TypeError || error instanceof DOMException;
    if (signal.aborted || !isOfFetch) throw error;
    throw new Error(`${url} cannot be read`, { cause: error.cause ?? error });
  }
}

async function fetchUpTo(url: string, maxBytes: number, signal: AbortSignal): Promise<Uint8Array> {
  const timeout = AbortSignal.any([signal, AbortSignal.timeout(fetchTimeoutMs)]);
  let response = await fetch(url, { signal: timeout });
  // A running service limits how much each address reads.
  while (response.status === 429) {
    await response.body?.cancel();
    await sleep(1_000 * Math.max(1, Number(response.headers.get("retry-after")) || 1), timeout);
    response = await fetch(url, { signal: timeout });
  }
  if (!response.ok) throw new Error(`${url} was answered with status ${response.status}`);
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const part of response.body ?? []) {
    length += part.length;
    if (length > maxBytes) throw new Error(`${url} is too large`);
    parts.push(part);
  }
  return Buffer.concat(parts);
}
