// Which tiles a tree of some size has. The bundles of entries are those of level 0.
import { fullWidth, type Tile } from "./tile-path.ts";

/** How many hashes a level of tiles has in a tree of `size` entries: floor(size / 256^level). */
export function hashesAt(level: number, size: number): number {
  return Math.floor(size / fullWidth ** level);
}

/** How many hashes a tile has in a tree of `size` entries: 0 if there is no such tile, 256 if it is full. */
export function widthAt(level: number, index: number, size: number): number {
  return Math.min(Math.max(hashesAt(level, size) - index * fullWidth, 0), fullWidth);
}

/** The partial tiles of a tree, from the lowest level to the highest. There is at most one at each level. */
export function partialTiles(size: number): Tile[] {
  const tiles: Tile[] = [];
  for (let level = 0; hashesAt(level, size) > 0; level++) {
    // The next hash of the level will stand in this tile, which may still be empty.
    const index = Math.floor(hashesAt(level, size) / fullWidth);
    const width = widthAt(level, index, size);
    if (width > 0) tiles.push({ level, index, width });
  }
  return tiles;
}
