import { equalBytes } from "../encoding.ts";
import { TlogError } from "../error.ts";
import { type AnySha256, emptyInput, hashBytes, nodeInput } from "../tree/hashing.ts";
import type { Tree } from "../tree/proofs.ts";
import { isSize, perfectSubtrees, type Range, type Subtree } from "../tree/ranges.ts";
import { formatTilePath, fullWidth, type Tile } from "./tile-path.ts";
import { TileTree } from "./tile-tree.ts";
import { partialTiles, widthAt } from "./widths.ts";

/** Reads the hashes of a tile. What it returns is not trusted. Its errors reach the caller as they are. */
type ReadTile = (tile: Tile) => Uint8Array | Promise<Uint8Array>;

/**
 * Keeps full tiles by their paths. It gets only verified tiles, and what it returns is not verified again. So trees may share
 * a cache only if they extend one another. A Map will do where few tiles are read.
 */
export interface TileCache {
  get(path: string): TileTree | undefined;
  set(path: string, tile: TileTree): unknown;
}

/** The lower half of a full tile are 16 subtrees of this height. The upper half are their hashes, and those above. */
const halfHeight = 4;
const halfWidth = 2 ** halfHeight;

/** The hashes of a log up to some size. They are taken from tiles, and only after these were verified against the root. */
export class TiledTree {
  readonly size: number;
  readonly #read: ReadTile;
  readonly #sha256: AnySha256;
  readonly #cache: TileCache;
  readonly #upperHalves: TileCache | undefined;
  /** The partial tiles, by level. */
  readonly #partial: ReadonlyMap<number, TileTree>;
  /** What is being read: tiles by their path, and subtrees of lower halves by path and index. */
  readonly #pending = new Map<string, Promise<TileTree>>();

  private constructor(
    size: number,
    partial: ReadonlyMap<number, TileTree>,
    read: ReadTile,
    sha256: AnySha256,
    cache: TileCache,
    upperHalves: TileCache | undefined,
  ) {
    this.size = size;
    this.#partial = partial;
    this.#read = read;
    this.#sha256 = sha256;
    this.#cache = cache;
    this.#upperHalves = upperHalves;
  }

  /**
   * Reads the partial tiles and verifies them. All other tiles are full, and are verified against these.
   * @param upperHalves keeps the upper halves of full tiles, of 1 KiB each and not 16: a proof in a tile whose upper half is
   *   kept computes 15 hashes, and not 255
   * @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what `read` throws
   */
  static async open(
    tree: Tree,
    read: ReadTile,
    sha256: AnySha256,
    cache: TileCache = new Map(),
    upperHalves?: TileCache,
  ): Promise<TiledTree> {
    if (!isSize(tree.size)) throw new TlogError("out_of_range", `there is no tree of ${tree.size} entries`);
    const tiles = await Promise.all(
      partialTiles(tree.size).map(
        async (tile) => [tile.level, await TileTree.of(await read(tile), tile.width, sha256)] as const,
      ),
    );
    const tiled = new TiledTree(tree.size, new Map(tiles), read, sha256, cache, upperHalves);
    if (!equalBytes(await tiled.root(), tree.root))
      throw new TlogError("wrong_tile", "the tiles do not hash to the root");
    return tiled;
  }

  /**
   * The root of the tree when it had `size` entries.
   * @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what `read` throws
   */
  async root(size = this.size): Promise<Uint8Array> {
    if (size === 0) return this.#sha256(emptyInput);
    return this.hash([0, size]);
  }

  /**
   * MTH of a range that is a node of the tree at some size, as those of proofs are.
   * @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what `read` throws
   */
  async hash(range: Range): Promise<Uint8Array> {
    const [from, to] = range;
    if (!isSize(from) || !isSize(to) || from >= to || to > this.size) {
      throw new TlogError("out_of_range", `a tree of ${this.size} entries has none from ${from} to ${to}`);
    }
    const subtrees = await Promise.all(perfectSubtrees(range).map((subtree) => this.subtree(subtree)));
    let hash = subtrees.at(-1) as Uint8Array;
    for (const left of subtrees.slice(0, -1).reverse()) hash = await this.#sha256(nodeInput(left, hash));
    return hash;
  }

  /**
   * The hash of a perfect subtree, as a view of a tile.
   * @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what `read` throws
   */
  async subtree({ height, index }: Subtree): Promise<Uint8Array> {
    const within = height % 8;
    const perTile = 2 ** (8 - within);
    const [level, at] = [Math.floor(height / 8), index % perTile];
    const tile = { level, index: Math.floor(index / perTile), width: fullWidth };
    const upper = this.#upperHalfOf(tile);
    if (upper === undefined) return (await this.tile(level, tile.index)).hash(within, at);
    if (within >= halfHeight) return upper.hash(within - halfHeight, at);
    const perSubtree = halfWidth >> within;
    const lower = await this.#lowerSubtree(tile, Math.floor(at / perSubtree), upper);
    return lower.hash(within, at % perSubtree);
  }

  /** The upper half of a full tile that is not kept as a whole; undefined if it is, or if there is none. */
  #upperHalfOf(tile: Tile): TileTree | undefined {
    if (this.#upperHalves === undefined || widthAt(tile.level, tile.index, this.size) < fullWidth) return undefined;
    const path = formatTilePath(tile);
    return this.#cache.get(path) === undefined ? this.#upperHalves.get(path) : undefined;
  }

  /** A tile of this tree, verified. @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what `read` throws */
  async tile(level: number, index: number): Promise<TileTree> {
    const width = widthAt(level, index, this.size);
    if (width === 0) throw new TlogError("out_of_range", `a tree of ${this.size} entries has no such tile`);
    if (width < fullWidth) return this.#partial.get(level) as TileTree;
    const tile = { level, index, width };
    const path = formatTilePath(tile);
    return this.#cache.get(path) ?? this.#once(path, () => this.#load(tile, path));
  }

  /** Work that is going on is shared. */
  async #once(name: string, load: () => Promise<TileTree>): Promise<TileTree> {
    const known = this.#pending.get(name);
    if (known !== undefined) return known;
    const loading = load();
    this.#pending.set(name, loading);
    try {
      return await loading;
    } finally {
      this.#pending.delete(name);
    }
  }

  /** Reads a full tile, and verifies it by its hash in the parent. Each full tile has a parent: the highest tile is partial. */
  async #load(tile: Tile, path: string): Promise<TileTree> {
    const { level, index, width } = tile;
    const [bytes, hash] = await Promise.all([this.#read(tile), this.subtree({ height: 8 * (level + 1), index })]);
    const loaded = await TileTree.of(bytes, width, this.#sha256);
    if (!equalBytes(loaded.hash(8, 0), hash)) {
      throw new TlogError("wrong_tile", `${path} does not hash to its parent`);
    }
    this.#cache.set(path, loaded);
    this.#upperHalves?.set(path, loaded.from(halfHeight));
    return loaded;
  }

  /** Reads one of the subtrees that are the lower half of a full tile, and verifies it by the upper half. */
  #lowerSubtree(tile: Tile, index: number, upper: TileTree): Promise<TileTree> {
    const path = formatTilePath(tile);
    return this.#once(`${path}/${index}`, async () => {
      const begin = index * halfWidth * hashBytes;
      const bytes = (await this.#read(tile)).subarray(begin, begin + halfWidth * hashBytes);
      const subtree = await TileTree.of(bytes, halfWidth, this.#sha256);
      if (equalBytes(subtree.hash(halfHeight, 0), upper.hash(0, index))) return subtree;
      throw new TlogError("wrong_tile", `${path} is not the tile that was verified before`);
    });
  }
}
