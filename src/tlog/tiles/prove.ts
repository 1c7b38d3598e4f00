// Makes proofs and compact ranges from tiles. Those who verify a proof need no tiles.
import { CompactRange } from "../tree/compact-range.ts";
import type { TreeHasher } from "../tree/hashing.ts";
import { inclusionRanges, perfectSubtrees } from "../tree/ranges.ts";
import type { TiledTree } from "./tiled-tree.ts";

/**
 * The inclusion proof of an entry, from the sibling of its leaf to a child of the root.
 * @param size of the tree that it leads to: this one or an older one
 * @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what reads the tiles throws
 */
export function proveInclusion(tree: TiledTree, index: number, size = tree.size): Promise<Uint8Array[]> {
  return Promise.all(inclusionRanges(index, size).map((range) => tree.hash(range)));
}

/**
 * The range of the first `size` entries, to which the next ones are appended.
 * @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what reads the tiles throws
 */
export async function rangeOf(tree: TiledTree, hasher: TreeHasher, size = tree.size): Promise<CompactRange> {
  const roots = await Promise.all(perfectSubtrees([0, size]).map((subtree) => tree.subtree(subtree)));
  return CompactRange.of(size, roots, hasher);
}
