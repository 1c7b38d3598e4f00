// Hashes of a Merkle tree by RFC 6962, section 2.1.

/** SHA-256. It must neither change its input nor keep it: the caller overwrites these bytes after the call. */
export type Sha256 = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array;

/** SHA-256 that may return a promise, as WebCrypto does. The caller leaves the input as it is until the promise settles. */
export type AnySha256 = (bytes: Uint8Array<ArrayBuffer>) => Uint8Array | Promise<Uint8Array>;

export const hashBytes = 32;

/** What is hashed for a leaf: 0x00 and the entry. */
export function leafInput(entry: Uint8Array): Uint8Array<ArrayBuffer> {
  const input = new Uint8Array(1 + entry.length);
  input.set(entry, 1);
  return input;
}

/** What is hashed for a node: 0x01 and the hashes of its children. */
export function nodeInput(left: Uint8Array, right: Uint8Array): Uint8Array<ArrayBuffer> {
  const input = new Uint8Array(1 + 2 * hashBytes);
  input[0] = 1;
  input.set(left, 1);
  input.set(right, 1 + hashBytes);
  return input;
}

/** What is hashed for the root of the empty tree: nothing. */
export const emptyInput = new Uint8Array(0);

/** Hashes leaves and nodes for those who append. It reuses two buffers for what is hashed. */
export class TreeHasher {
  readonly #sha256: Sha256;
  readonly #node = nodeInput(new Uint8Array(hashBytes), new Uint8Array(hashBytes));
  readonly #leaf = new Uint8Array(2048);

  constructor(sha256: Sha256) {
    this.#sha256 = sha256;
  }

  leaf(entry: Uint8Array): Uint8Array {
    if (entry.length >= this.#leaf.length) return this.#sha256(leafInput(entry));
    this.#leaf.set(entry, 1);
    return this.#sha256(this.#leaf.subarray(0, 1 + entry.length));
  }

  node(left: Uint8Array, right: Uint8Array): Uint8Array {
    this.#node.set(left, 1);
    this.#node.set(right, 1 + hashBytes);
    return this.#sha256(this.#node);
  }

  emptyRoot(): Uint8Array {
    return this.#sha256(emptyInput);
  }
}
