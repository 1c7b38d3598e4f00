// A log with the entries "entry 0", "entry 1", and so on, like that of the reference.
import { appendToTiles } from "../../src/tlog/tiles/growth.ts";
import { formatTilePath, fullWidth, type Tile } from "../../src/tlog/tiles/tile-path.ts";
import { TiledTree } from "../../src/tlog/tiles/tiled-tree.ts";
import { hashesAt, widthAt } from "../../src/tlog/tiles/widths.ts";
import { CompactRange } from "../../src/tlog/tree/compact-range.ts";
import { hashBytes } from "../../src/tlog/tree/hashing.ts";
import { hasher, sha256 } from "./node-functions.ts";

export const testEntry = (index: number): Uint8Array => Buffer.from(`entry ${index}`);

export const testEntries = (from: number, to: number): Uint8Array[] =>
  Array.from({ length: to - from }, (_, at) => testEntry(from + at));

/** Tiles as they grow. Each has all its hashes so far. */
export class TestLog {
  readonly range = new CompactRange(hasher);
  /** By the paths of full tiles. */
  readonly tiles = new Map<string, Uint8Array>();

  constructor(size = 0) {
    this.grow(testEntries(0, size));
  }

  grow(entries: Iterable<Uint8Array>): void {
    for (const { level, index, from, hashes } of appendToTiles(this.range, entries)) {
      const path = formatTilePath({ level, index, width: fullWidth });
      const before = this.tiles.get(path) ?? new Uint8Array(0);
      if (before.length !== from * hashBytes) throw new Error(`${path} grows from ${from} hashes`);
      this.tiles.set(path, Buffer.concat([before, hashes]));
    }
  }

  /** Reads a tile, as TiledTree asks for it. */
  readonly read = ({ level, index, width }: Tile): Uint8Array => {
    const tile = this.tiles.get(formatTilePath({ level, index, width: fullWidth }));
    if (tile === undefined) throw new Error(`there is no tile ${index} of level ${level}`);
    return tile.subarray(0, width * hashBytes);
  };

  /** The tree as it is now. */
  open(): Promise<TiledTree> {
    return this.at(this.range.size, this.range.root());
  }

  /** The tree as it was. */
  at(size: number, root: Uint8Array): Promise<TiledTree> {
    return TiledTree.open({ size, root }, this.read, sha256);
  }
}

/** The tiles that a tree gains or extends when it grows, with their widths after that, by level and index. */
export function touchedTiles(from: number, to: number): Tile[] {
  const tiles: Tile[] = [];
  for (let level = 0; hashesAt(level, to) > 0; level++) {
    const [begin, end] = [hashesAt(level, from), hashesAt(level, to)];
    for (let index = Math.floor(begin / fullWidth); index * fullWidth < end && begin < end; index++) {
      tiles.push({ level, index, width: widthAt(level, index, to) });
    }
  }
  return tiles;
}

/** The roots of the trees with 0, 1, … `size` entries. */
export function rootsTo(size: number): Uint8Array[] {
  const range = new CompactRange(hasher);
  const roots = [range.root()];
  for (let index = 0; index < size; index++) {
    range.append(testEntry(index));
    roots.push(range.root());
  }
  return roots;
}
