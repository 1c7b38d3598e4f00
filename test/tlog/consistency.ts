// Consistency proofs of RFC 6962, section 2.1.2. Stoa itself needs none: it computes both roots from tiles. FORMAT.md says how
// others make and verify them, and the vectors are checked by this. It runs in browsers, too.
import { equalBytes } from "../../src/tlog/encoding.ts";
import { TlogError } from "../../src/tlog/error.ts";
import { type AnySha256, hashBytes, nodeInput } from "../../src/tlog/tree/hashing.ts";
import type { Tree } from "../../src/tlog/tree/proofs.ts";
import { inclusionRanges, isSize, perfectSubtrees, type Range, type Subtree } from "../../src/tlog/tree/ranges.ts";

/**
 * The ranges whose hashes are the consistency proof between two sizes of a tree, in their order: PROOF(older, D[newer]) of
 * RFC 6962. There are none between equal sizes.
 * @throws TlogError `out_of_range` for an older tree that is empty or larger
 */
function consistencyRanges(older: number, newer: number): Range[] {
  // The way to the last entry of the older tree, from the largest subtree on that ends with it.
  const path = inclusionRanges(older - 1, newer);
  if (older === newer) return [];
  const { height, index } = perfectSubtrees([0, older]).at(-1) as Subtree;
  const rest = path.slice(height);
  // The older tree itself needs no hash: the verifier knows its root.
  return index === 0 ? rest : [[index * 2 ** height, older], ...rest];
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
  const hashes = [older.root, newer.root, ...proof];
  if (proof.length !== ranges.length || hashes.some(({ length }) => length !== hashBytes)) {
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
