// Verifies proofs of RFC 6962, sections 2.1.1 and 2.1.2, without the tree.
import { equalBytes } from "../encoding.ts";
import { TlogError } from "../error.ts";
import { type AnySha256, hashBytes, nodeInput } from "./hashing.ts";
import { consistencyRanges, inclusionRanges, isSize } from "./ranges.ts";

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

/**
 * Checks that a tree begins with the entries of an older one. Between trees of the same size the roots must be equal, and the
 * proof empty.
 * @throws TlogError `not_consistent`, also for an older tree that is empty or larger: nothing can be proved of these
 */
export async function checkConsistency(
  older: Tree,
  newer: Tree,
  proof: readonly Uint8Array[],
  sha256: AnySha256,
): Promise<void> {
  const fail = (message: string) => new TlogError("not_consistent", message);
  if (!isSize(older.size) || !isSize(newer.size) || older.size === 0 || older.size > newer.size) {
    throw fail(`no proof shows that a tree of ${newer.size} entries extends one of ${older.size}`);
  }
  if (older.size === newer.size) {
    if (proof.length === 0 && equalBytes(older.root, newer.root)) return;
    throw fail("two trees of the same size differ, or the proof between them is not empty");
  }
  const ranges = consistencyRanges(older.size, newer.size);
  if (!areHashes([older.root, newer.root, ...proof], ranges.length + 2)) {
    throw fail(`the consistency proof must have ${ranges.length} hashes`);
  }
  // The part that both trees have in common is the older tree itself, or begins the proof.
  const isWhole = ranges[0]?.[0] === older.size;
  let inOlder = isWhole ? older.root : (proof[0] as Uint8Array);
  let inNewer = inOlder;
  for (let at = isWhole ? 0 : 1; at < ranges.length; at++) {
    const hash = proof[at] as Uint8Array;
    if ((ranges[at]?.[0] as number) >= older.size) {
      inNewer = await sha256(nodeInput(inNewer, hash));
    } else {
      inOlder = await sha256(nodeInput(hash, inOlder));
      inNewer = await sha256(nodeInput(hash, inNewer));
    }
  }
  if (!equalBytes(inOlder, older.root)) throw fail("the consistency proof does not lead to the older root");
  if (!equalBytes(inNewer, newer.root)) throw fail("the consistency proof does not lead to the newer root");
}

function areHashes(values: readonly Uint8Array[], count: number): boolean {
  return values.length === count && values.every(({ length }) => length === hashBytes);
}
