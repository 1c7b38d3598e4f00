// How a Merkle tree divides its entries (RFC 6962, section 2.1), and which parts a proof is made of. Sizes and indexes are
// integers up to 2^53-1. JavaScript's bit operations work on 32 bits only, so this file uses arithmetic.
import { TlogError } from "../error.ts";

/** The entries from the first number to before the second. */
export type Range = readonly [from: number, to: number];

/** A perfect subtree: the entries from index × 2^height to before (index + 1) × 2^height. */
export interface Subtree {
  height: number;
  index: number;
}

export function isSize(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}

/** The largest power of two that is less than `size`: the size of the left part of a tree of two entries or more. */
function leftSize(size: number): number {
  let left = 1;
  while (left * 2 < size) left *= 2;
  return left;
}

/**
 * The ranges whose hashes are the inclusion proof of an entry, from its sibling to a child of the root: PATH of RFC 6962.
 * @throws TlogError `out_of_range`
 */
export function inclusionRanges(index: number, size: number): Range[] {
  if (!isSize(index) || !isSize(size) || index >= size) {
    throw new TlogError("out_of_range", `a tree of ${size} entries has none at ${index}`);
  }
  const ranges: Range[] = [];
  let [from, to] = [0, size];
  while (to - from > 1) {
    const middle = from + leftSize(to - from);
    if (index < middle) {
      ranges.push([middle, to]);
      to = middle;
    } else {
      ranges.push([from, middle]);
      from = middle;
    }
  }
  return ranges.reverse();
}

/**
 * The perfect subtrees that a range consists of, from left to right. They are nodes of the tree if the range is one of
 * `inclusionRanges`, or begins at 0.
 */
export function perfectSubtrees([from, to]: Range): Subtree[] {
  const subtrees: Subtree[] = [];
  for (let at = from; at < to; ) {
    let height = 0;
    let size = 1;
    while (at % (size * 2) === 0 && at + size * 2 <= to) {
      size *= 2;
      height++;
    }
    subtrees.push({ height, index: at / size });
    at += size;
  }
  return subtrees;
}
