import type { CompactRange } from "../tree/compact-range.ts";
import { hashBytes } from "../tree/hashing.ts";
import { fullWidth } from "./tile-path.ts";

/** What a tile gains: `hashes` stand in it from hash number `from` on. Its earlier hashes do not change. */
export interface TileGrowth {
  level: number;
  index: number;
  from: number;
  hashes: Uint8Array<ArrayBuffer>;
}

/**
 * Appends entries to a range.
 * @returns what the tiles gain, by level and index. A new tile has `from` 0. All tiles that are not named stay as they are
 */
export function appendToTiles(range: CompactRange, entries: Iterable<Uint8Array>): TileGrowth[] {
  /** The hashes that each level gains, and the number of the first of them. */
  const levels: { first: number; hashes: Uint8Array[] }[] = [];
  range.appendAll(entries, (height, index, hash) => {
    if (height % 8 !== 0) return;
    levels[height / 8] ??= { first: index, hashes: [] };
    levels[height / 8]?.hashes.push(hash);
  });
  return levels.flatMap(({ first, hashes }, level) => {
    const growths: TileGrowth[] = [];
    for (let at = 0; at < hashes.length; ) {
      const index = Math.floor((first + at) / fullWidth);
      const from = (first + at) % fullWidth;
      const count = Math.min(fullWidth - from, hashes.length - at);
      growths.push({ level, index, from, hashes: concatenated(hashes.slice(at, at + count)) });
      at += count;
    }
    return growths;
  });
}

function concatenated(hashes: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(hashes.length * hashBytes);
  for (const [at, hash] of hashes.entries()) bytes.set(hash, at * hashBytes);
  return bytes;
}
