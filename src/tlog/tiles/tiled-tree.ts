import { equalBytes } from "../encoding.ts";
import { TlogError } from "../error.ts";
import { type AnySha256, emptyInput, nodeInput } from "../tree/hashing.ts";
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

/** The hashes of a log up to some size. They are taken from tiles, and only after these were verified against the root. */
export class TiledTree {
  readonly size: number;
  readonly #read: ReadTile;
  readonly #sha256: AnySha256;
  readonly #cache: TileCache;
  /** The partial tiles, by level. */
  readonly #partial: ReadonlyMap<number, TileTree>;
  /** Tiles that are being read, by path. */
  readonly #pending = new Map<string, Promise<TileTree>>();

  private constructor(
    size: number,
    partial: ReadonlyMap<number, TileTree>,
    read: ReadTile,
    sha256: AnySha256,
    cache: TileCache,
  ) {
    this.size = size;
    this.#partial = partial;
    this.#read = read;
    this.#sha256 = sha256;
    this.#cache = cache;
  }

  /**
   * Reads the partial tiles and verifies them. All other tiles are full, and are verified against these.
   * @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what `read` throws
   */
  static async open(tree: Tree, read: ReadTile, sha256: AnySha256, cache: TileCache = new Map()): Promise<TiledTree> {
    if (!isSize(tree.size)) throw new TlogError("out_of_range", `there is no tree of ${tree.size} entries`);
    const tiles = await Promise.all(
      partialTiles(tree.size).map(
        async (tile) => [tile.level, await TileTree.of(await read(tile), tile.width, sha256)] as const,
      ),
    );
    const tiled = new TiledTree(tree.size, new Map(tiles), read, sha256, cache);
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
    const tile = await this.tile(Math.floor(height / 8), Math.floor(index / perTile));
    return tile.hash(within, index % perTile);
  }

  /** A tile of this tree, verified. @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what `read` throws */
  async tile(level: number, index: number): Promise<TileTree> {
    const width = widthAt(level, index, this.size);
    if (width === 0) throw new TlogError("out_of_range", `a tree of ${this.size} entries has no such tile`);
    if (width < fullWidth) return this.#partial.get(level) as TileTree;
    const tile = { level, index, width };
    const path = formatTilePath(tile);
    const known = this.#cache.get(path) ?? this.#pending.get(path);
    if (known !== undefined) return known;
    const loading = this.#load(tile);
    this.#pending.set(path, loading);
    try {
      const loaded = await loading;
      this.#cache.set(path, loaded);
      return loaded;
    } finally {
      this.#pending.delete(path);
    }
  }

  /** Reads a full tile, and verifies it by its hash in the parent. Each full tile has a parent: the highest tile is partial. */
  async #load(tile: Tile): Promise<TileTree> {
    const { level, index, width } = tile;
    const [bytes, hash] = await Promise.all([this.#read(tile), this.subtree({ height: 8 * (level + 1), index })]);
    const loaded = await TileTree.of(bytes, width, this.#sha256);
    if (!equalBytes(loaded.hash(8, 0), hash)) {
      throw new TlogError("wrong_tile", `${formatTilePath(tile)} does not hash to its parent`);
    }
    return loaded;
  }
}
