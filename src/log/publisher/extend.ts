import { StoredDamage } from "../../errors.ts";
import type { Queryable } from "../../store/database/queryable.ts";
import { listLogEntries } from "../../store/tables/log-entries.ts";
import { readLogTile } from "../../store/tables/log-tiles.ts";
import { equalBytes, toUtf8 } from "../../tlog/encoding.ts";
import { TlogError } from "../../tlog/error.ts";
import { rangeOf } from "../../tlog/tiles/prove.ts";
import type { Tile } from "../../tlog/tiles/tile-path.ts";
import { TiledTree } from "../../tlog/tiles/tiled-tree.ts";
import { CompactRange } from "../../tlog/tree/compact-range.ts";
import { hashBytes } from "../../tlog/tree/hashing.ts";
import type { Tree } from "../../tlog/tree/proofs.ts";
import { sha256, treeHasher } from "../crypto.ts";
import type { LogFolder } from "../folder/log-folder.ts";
import { type Extension, segmentEntries } from "../folder/segments.ts";

/** How many entries are read from the database at a time. */
const readEntries = 1_024;

/** Entries that a transaction of this process has appended to the log. The transaction is known to have committed. */
export interface CommittedBatch {
  /** The index of the first entry: the size of the tree before. */
  from: number;
  /** The exact bytes of the entries, in the order of the tree. */
  entries: readonly Uint8Array[];
}

/** The database contradicts what this replica has published, or itself. The message is a sentence without its full stop. */
export class Contradiction extends Error {
  override readonly name = "Contradiction";
}

/**
 * Appends to the folder the entries of a tree that it lacks.
 * @param tree a tree of the database that is not smaller than the folder's
 * @param batch entries that need not be read from the database
 * @returns the extension, with everything on the disk. Nothing counts before it is adopted
 * @throws Contradiction if the entries in the database do not lead to the tree; FolderDamage; StoaError; Error of the file
 * system
 */
export async function extendTo(
  db: Queryable,
  folder: LogFolder,
  tree: Tree,
  batch: CommittedBatch | undefined,
): Promise<Extension> {
  if (folder.size === undefined) await folder.begin(await rangeBefore(db, tree));
  const extension = folder.extend();
  const from = extension.range.size;
  try {
    if (batch?.from === from && from + batch.entries.length <= tree.size) await extension.append(batch.entries);
    await readInto(extension.range, db, tree.size, (entries) => extension.append(entries));
    await extension.sync();
  } finally {
    await extension.close();
  }
  checkRoot(extension.range, tree, from);
  return extension;
}

/** Checks that a tree of the database begins with the entries of the folder. @throws Contradiction; StoaError */
export async function checkExtends(db: Queryable, folder: LogFolder, tree: Tree): Promise<void> {
  const { range } = folder.extend();
  const from = range.size;
  await readInto(range, db, tree.size, async (entries) => range.appendAll(entries));
  checkRoot(range, tree, from);
}

async function readInto(
  range: CompactRange,
  db: Queryable,
  size: number,
  append: (entries: Uint8Array[]) => Promise<void>,
): Promise<void> {
  while (range.size < size) {
    const rows = await listLogEntries(db, range.size, Math.min(readEntries, size - range.size));
    const isGapless = rows.length > 0 && rows.every(({ idx }, at) => idx === range.size + at);
    if (!isGapless) throw new Contradiction(`The database lacks entries of the log from ${range.size} on`);
    await append(rows.map(({ entry }) => toUtf8(entry)));
  }
}

function checkRoot(range: CompactRange, tree: Tree, from: number): void {
  if (range.size === tree.size && equalBytes(range.root(), tree.root)) return;
  throw new Contradiction(
    from === 0
      ? `The entries in the database are not those of its tree of ${tree.size} entries`
      : `The database's tree of ${tree.size} entries does not extend the one of ${from} that this replica has published`,
  );
}

/** The range of the entries before the file in which the newest entry of a tree stands: a new replica begins there. */
async function rangeBefore(db: Queryable, tree: Tree): Promise<CompactRange> {
  const first = Math.floor((tree.size - 1) / segmentEntries) * segmentEntries;
  if (first === 0) return new CompactRange(treeHasher);
  try {
    const tiles = await TiledTree.open(tree, (tile) => readTile(db, tile), sha256);
    return await rangeOf(tiles, treeHasher, first);
  } catch (error) {
    if (!(error instanceof TlogError)) throw error;
    throw new Contradiction(`The database's tiles are not those of its tree of ${tree.size} entries: ${error.message}`);
  }
}

/** The hashes of a tile as they are stored. @throws StoredDamage if it has fewer; StoaError */
export async function readTile(db: Queryable, tile: Tile): Promise<Uint8Array> {
  return firstHashes(await readLogTile(db, tile.level, tile.index), tile);
}

/** The hashes of a tile among those that are stored. @throws StoredDamage if there are fewer */
export function firstHashes(stored: Uint8Array | undefined, { level, index, width }: Tile): Uint8Array {
  if (stored !== undefined && stored.length >= width * hashBytes) return stored.subarray(0, width * hashBytes);
  throw new StoredDamage(
    `A tile of the log is missing (level ${level}, index ${index}); stoa fsck --repair writes it.`,
  );
}
