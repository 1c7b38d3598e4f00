import type { TileTree } from "../../tlog/tiles/tile-tree.ts";
import type { TileCache } from "../../tlog/tiles/tiled-tree.ts";

/** How many full tiles are kept: 4 MiB. */
const maxTiles = 256;

/** Keeps the full tiles of one tree that were read last. */
export class RecentTiles implements TileCache {
  /** The oldest comes first. */
  readonly #tiles = new Map<string, TileTree>();

  get(path: string): TileTree | undefined {
    const tile = this.#tiles.get(path);
    if (tile !== undefined) this.set(path, tile);
    return tile;
  }

  set(path: string, tile: TileTree): void {
    this.#tiles.delete(path);
    this.#tiles.set(path, tile);
    const [oldest] = this.#tiles.keys();
    if (this.#tiles.size > maxTiles && oldest !== undefined) this.#tiles.delete(oldest);
  }
}
