// Verifies inclusion proofs of RFC 6962, section 2.1.1, without the tree.
import { equalBytes } from "../encoding.ts";
import { TlogError } from "../error.ts";
import { type AnySha256, hashBytes, nodeInput } from "./hashing.ts";
import { inclusionRanges, isSize } from "./ranges.ts";

/** A tree by its size and its root. */
export interface Tree {
  size: number;
  root: Uint8Array;
}

/**
 * Checks that the entry with the hash `leaf` stands at `index` in a tree.
 * @param proof the hashes from the sibling of the leaf to a child of the root
 * @throws TlogError `not_included`
 */
export async function checkInclusion(
  leaf: Uint8Array,
  index: number,
  proof: readonly Uint8Array[],
  tree: Tree,
  sha256: AnySha256,
): Promise<void> {
  const fail = (message: string) => new TlogError("not_included", message);
  if (!isSize(index) || !isSize(tree.size) || index >= tree.size) {
    throw fail(`the tree of ${tree.size} entries has none at ${index}`);
  }
  const ranges = inclusionRanges(index, tree.size);
  if (!areHashes([leaf, tree.root, ...proof], ranges.length + 2)) {
    throw fail(`the inclusion proof must have ${ranges.length} hashes`);
  }
  let hash = leaf;
  for (const [at, [from]] of ranges.entries()) {
    const sibling = proof[at] as Uint8Array;
    hash = await sha256(from > index ? nodeInput(hash, sibling) : nodeInput(sibling, hash));
  }
  if (!equalBytes(hash, tree.root)) throw fail("the inclusion proof does not lead to the root");
}

function areHashes(values: readonly Uint8Array[], count: number): boolean {
  return values.length === count && values.every(({ length }) => length === hashBytes);
}
