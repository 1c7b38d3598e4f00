import { TlogError } from "../error.ts";
import { type AnySha256, hashBytes } from "../tree/hashing.ts";

/** The hashes of a tile, and of all perfect subtrees above them that the tile covers: 16 KiB if it is full. */
export class TileTree {
  readonly width: number;
  /** The hashes of each height within the tile, one height after the other. */
  readonly #hashes: Uint8Array;
  /** By height, which of these hashes is the first: height 0 has the hashes of the tile, and 8 the hash of a full one. */
  readonly #first: readonly number[];

  private constructor(width: number, hashes: Uint8Array, first: readonly number[]) {
    this.width = width;
    this.#hashes = hashes;
    this.#first = first;
  }

  /**
   * Computes the inner hashes of a tile, at most 255.
   * @param bytes the hashes of the tile
   * @throws TlogError `bad_tile` if these are not `width` hashes
   */
  static async of(bytes: Uint8Array, width: number, sha256: AnySha256): Promise<TileTree> {
    if (bytes.length !== width * hashBytes) {
      throw new TlogError("bad_tile", `a tile of ${width} hashes has ${bytes.length} bytes`);
    }
    const first: number[] = [];
    let count = 0;
    for (let atHeight = width; atHeight > 0; atHeight >>= 1) {
      first.push(count);
      count += atHeight;
    }
    const hashes = new Uint8Array(count * hashBytes);
    hashes.set(bytes);
    const input = new Uint8Array(1 + 2 * hashBytes);
    input[0] = 1;
    for (let height = 1; height < first.length; height++) {
      const [below, begin] = [first[height - 1] as number, first[height] as number];
      for (let index = 0; index < width >> height; index++) {
        const children = (below + 2 * index) * hashBytes;
        input.set(hashes.subarray(children, children + 2 * hashBytes), 1);
        const hash = sha256(input);
        // Awaiting a hash that is already there takes longer than computing it.
        hashes.set(hash instanceof Uint8Array ? hash : await hash, (begin + index) * hashBytes);
      }
    }
    return new TileTree(width, hashes, first);
  }

  /** The tile as it is stored and served. */
  get bytes(): Uint8Array {
    return this.#hashes.subarray(0, this.width * hashBytes);
  }

  /** A copy of what a tile has from a height on, as a tile of its own. */
  from(height: number): TileTree {
    const begin = this.#first[height] as number;
    const first = this.#first.slice(height).map((index) => index - begin);
    return new TileTree(this.width >> height, this.#hashes.slice(begin * hashBytes), first);
  }

  /** The hash of a perfect subtree of the tile. @throws TlogError `out_of_range` if the tile does not cover it */
  hash(height: number, index: number): Uint8Array {
    const first = this.#first[height];
    if (first === undefined || index >= this.width >> height) {
      throw new TlogError("out_of_range", `the tile has no subtree ${index} of height ${height}`);
    }
    return this.#hashes.subarray((first + index) * hashBytes, (first + index + 1) * hashBytes);
  }
}
