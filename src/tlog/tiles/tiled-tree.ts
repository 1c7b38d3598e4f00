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

/** The height of a block of a full tile, which has 16 blocks. */
const blockHeight = 4;
const blockWidth = 2 ** blockHeight;

/** Where full tiles are kept, to be read once or seldom. */
export interface TileCaches {
  /** Whole tiles, of 16 KiB each. */
  tiles: TileCache;
  /**
   * The roots of the blocks of tiles, and what is above them: 1 KiB for each tile. With these, a proof in a tile that is not kept
   * needs one of its blocks, 15 hashes, and not all 255. Undefined where none are kept.
   */
  crowns?: TileCache | undefined;
}

/** The hashes of a log up to some size. They are taken from tiles, and only after these were verified against the root. */
export class TiledTree {
  readonly size: number;
  readonly #read: ReadTile;
  readonly #sha256: AnySha256;
  readonly #tiles: TileCache;
  readonly #crowns: TileCache | undefined;
  /** The partial tiles, by level. */
  readonly #partial: ReadonlyMap<number, TileTree>;
  /** Tiles and blocks that are being read, by path, and of a block by its index. */
  readonly #pending = new Map<string, Promise<TileTree>>();

  private constructor(
    size: number,
    partial: ReadonlyMap<number, TileTree>,
    read: ReadTile,
    sha256: AnySha256,
    { tiles, crowns }: TileCaches,
  ) {
    this.size = size;
    this.#partial = partial;
    this.#read = read;
    this.#sha256 = sha256;
    this.#tiles = tiles;
    this.#crowns = crowns;
  }

  /**
   * Reads the partial tiles and verifies them. All other tiles are full, and are verified against these.
   * @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what `read` throws
   */
  static async open(
    tree: Tree,
    read: ReadTile,
    sha256: AnySha256,
    caches: TileCaches = { tiles: new Map() },
  ): Promise<TiledTree> {
    if (!isSize(tree.size)) throw new TlogError("out_of_range", `there is no tree of ${tree.size} entries`);
    const tiles = await Promise.all(
      partialTiles(tree.size).map(
        async (tile) => [tile.level, await TileTree.of(await read(tile), tile.width, sha256)] as const,
      ),
    );
    const tiled = new TiledTree(tree.size, new Map(tiles), read, sha256, caches);
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
    const crown = this.#crownOf(tile);
    if (crown === undefined) return (await this.tile(level, tile.index)).hash(within, at);
    if (within >= blockHeight) return crown.hash(within - blockHeight, at);
    const perBlock = blockWidth >> within;
    const block = Math.floor(at / perBlock);
    const name = `${formatTilePath(tile)}/${block}`;
    const loaded = await this.#once(name, () => this.#loadBlock(tile, block, crown));
    return loaded.hash(within, at % perBlock);
  }

  /** The crown of a full tile that is not kept; undefined if it is, or has none. */
  #crownOf(tile: Tile): TileTree | undefined {
    if (this.#crowns === undefined || widthAt(tile.level, tile.index, this.size) < fullWidth) return undefined;
    const path = formatTilePath(tile);
    return this.#tiles.get(path) === undefined ? this.#crowns.get(path) : undefined;
  }

  /** A tile of this tree, verified. @throws TlogError `bad_tile`, `wrong_tile`, `out_of_range`; what `read` throws */
  async tile(level: number, index: number): Promise<TileTree> {
    const width = widthAt(level, index, this.size);
    if (width === 0) throw new TlogError("out_of_range", `a tree of ${this.size} entries has no such tile`);
    if (width < fullWidth) return this.#partial.get(level) as TileTree;
    const tile = { level, index, width };
    const path = formatTilePath(tile);
    return this.#tiles.get(path) ?? this.#once(path, () => this.#load(tile, path));
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
    this.#tiles.set(path, loaded);
    this.#crowns?.set(path, await TileTree.of(loaded.hashesAt(blockHeight), blockWidth, this.#sha256));
    return loaded;
  }

  /** Reads a block of a full tile, and verifies it by the crown of the tile. */
  async #loadBlock(tile: Tile, block: number, crown: TileTree): Promise<TileTree> {
    const bytes = await this.#read(tile);
    const [from, to] = [block, block + 1].map((at) => at * blockWidth * hashBytes);
    const loaded = await TileTree.of(bytes.subarray(from, to), blockWidth, this.#sha256);
    if (!equalBytes(loaded.hash(blockHeight, 0), crown.hash(0, block))) {
      throw new TlogError("wrong_tile", `${formatTilePath(tile)} is not the one that was verified before`);
    }
    return loaded;
  }
}
