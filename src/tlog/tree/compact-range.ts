import { TlogError } from "../error.ts";
import { hashBytes, type TreeHasher } from "./hashing.ts";
import { isSize, perfectSubtrees } from "./ranges.ts";

/** Called with each node that an entry completes, from its leaf (height 0) upwards. */
type OnNode = (height: number, index: number, hash: Uint8Array) => void;

/** How many bytes the size has in the serialised form. */
const sizeBytes = 8;
/** The most perfect subtrees: one for each bit of a size up to 2^53-1. */
const maxRoots = 53;

/**
 * The first entries of a log, as the roots of the perfect subtrees that they consist of. That is all one needs to append
 * entries and to compute the root.
 */
export class CompactRange {
  readonly #hasher: TreeHasher;
  #size = 0;
  /** By height. A root counts only if the size has the bit of its height. */
  readonly #roots: Uint8Array[] = [];

  constructor(hasher: TreeHasher) {
    this.#hasher = hasher;
  }

  /** The number of entries. */
  get size(): number {
    return this.#size;
  }

  appendAll(entries: Iterable<Uint8Array>, onNode?: OnNode): void {
    for (const entry of entries) this.append(entry, onNode);
  }

  append(entry: Uint8Array, onNode?: OnNode): void {
    let hash = this.#hasher.leaf(entry);
    let height = 0;
    let index = this.#size;
    onNode?.(height, index, hash);
    while (index % 2 === 1) {
      hash = this.#hasher.node(this.#roots[height] as Uint8Array, hash);
      height++;
      index = (index - 1) / 2;
      onNode?.(height, index, hash);
    }
    this.#roots[height] = hash;
    this.#size++;
  }

  /** MTH of the entries. */
  root(): Uint8Array {
    let root: Uint8Array | undefined;
    for (const hash of this.#subtreeRoots().reverse()) root = root === undefined ? hash : this.#hasher.node(hash, root);
    return root ?? this.#hasher.emptyRoot();
  }

  /** A range that grows independently of this one. */
  clone(): CompactRange {
    return CompactRange.of(this.#size, this.#subtreeRoots(), this.#hasher);
  }

  /** The size as 8 bytes in big-endian order, then the roots of the perfect subtrees from left to right. */
  toBytes(): Uint8Array<ArrayBuffer> {
    const roots = this.#subtreeRoots();
    const bytes = new Uint8Array(sizeBytes + roots.length * hashBytes);
    new DataView(bytes.buffer).setBigUint64(0, BigInt(this.#size));
    for (const [at, root] of roots.entries()) bytes.set(root, sizeBytes + at * hashBytes);
    return bytes;
  }

  /** @throws TlogError `bad_range` unless `toBytes` can have written the bytes */
  static fromBytes(bytes: Uint8Array, hasher: TreeHasher): CompactRange {
    if (bytes.length < sizeBytes || bytes.length > sizeBytes + maxRoots * hashBytes) {
      throw new TlogError("bad_range", "a compact range does not have this length");
    }
    const size = Number(new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(0));
    const roots: Uint8Array[] = [];
    for (let at = sizeBytes; at < bytes.length; at += hashBytes)
      roots.push(Uint8Array.from(bytes.subarray(at, at + hashBytes)));
    return CompactRange.of(size, roots, hasher);
  }

  /**
   * @param roots the roots of the perfect subtrees of the first `size` entries, from left to right
   * @throws TlogError `bad_range` if they are not as many as the size has, or not hashes
   */
  static of(size: number, roots: readonly Uint8Array[], hasher: TreeHasher): CompactRange {
    const subtrees = isSize(size) ? perfectSubtrees([0, size]) : undefined;
    if (subtrees?.length !== roots.length || roots.some(({ length }) => length !== hashBytes)) {
      throw new TlogError("bad_range", `these are not the subtrees of ${size} entries`);
    }
    const range = new CompactRange(hasher);
    range.#size = size;
    for (const [at, { height }] of subtrees.entries()) range.#roots[height] = roots[at] as Uint8Array;
    return range;
  }

  #subtreeRoots(): Uint8Array[] {
    return perfectSubtrees([0, this.#size]).map(({ height }) => this.#roots[height] as Uint8Array);
  }
}
