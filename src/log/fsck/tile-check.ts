import type { Queryable, Tx } from "../../store/database/queryable.ts";
import type { Finding } from "../../store/recount/finding.ts";
import { lockLogHead } from "../../store/recount/log.ts";
import { putLogTile, readLogTile } from "../../store/tables/log-tiles.ts";
import { equalBytes } from "../../tlog/encoding.ts";
import type { TileGrowth } from "../../tlog/tiles/growth.ts";
import { fullWidth } from "../../tlog/tiles/tile-path.ts";
import { hashBytes } from "../../tlog/tree/hashing.ts";

/** A tile as it follows from the entries. */
interface RightTile {
  level: number;
  index: number;
  hashes: Buffer;
}

/** How many tiles of 8 KiB may wait for their repair. The next run finds further ones. */
const maxWaiting = 1_000;

/** Compares the stored tiles with those that follow from the entries. It holds one partial tile of each level. */
export class TileCheck {
  /** The tiles that grow, by level. */
  readonly #growing = new Map<number, RightTile>();
  readonly #full: RightTile[] = [];
  /** The tiles that differ. They may be repaired only if the entries lead to the root, so they wait until that is known. */
  readonly wrong: { finding: Finding; tile: RightTile }[] = [];

  add(growths: readonly TileGrowth[]): void {
    for (const { level, index, from, hashes } of growths) {
      const before = from === 0 ? Buffer.alloc(0) : this.#growing.get(level)?.hashes;
      const tile = { level, index, hashes: Buffer.concat([before ?? Buffer.alloc(0), hashes]) };
      if (tile.hashes.length === fullWidth * hashBytes) {
        this.#full.push(tile);
        this.#growing.delete(level);
      } else {
        this.#growing.set(level, tile);
      }
    }
  }

  /** Compares the tiles that have become full. @returns the findings for which `wrong` has no room */
  async *compare(db: Queryable): AsyncGenerator<Finding, void> {
    for (const tile of this.#full.splice(0)) yield* this.#compareOne(db, tile);
  }

  /** The same for the tiles that are not full. They may have grown meanwhile. */
  async *compareRest(db: Queryable): AsyncGenerator<Finding, void> {
    for (const tile of this.#growing.values()) yield* this.#compareOne(db, tile);
  }

  async *#compareOne(db: Queryable, tile: RightTile): AsyncGenerator<Finding, void> {
    const { level, index, hashes } = tile;
    const stored = await readLogTile(db, level, index);
    if (stored !== undefined && isSame(stored, hashes)) return;
    const problem = stored === undefined ? "the tile is missing" : "it differs from the entries";
    const finding = {
      subject: stored === undefined ? "log_tiles" : "log_tiles.hashes",
      key: { level, n: index },
      problem,
    };
    if (this.wrong.length < maxWaiting) this.wrong.push({ finding, tile });
    else yield finding;
  }
}

/** The stored tile may have grown since the entries were read. */
function isSame(stored: Uint8Array, right: Uint8Array): boolean {
  return stored.length % hashBytes === 0 && equalBytes(stored.subarray(0, right.length), right);
}

/**
 * Writes a tile as it follows from the entries.
 * @param size of the tree that was read. A partial tile is written only while there is no larger tree
 * @returns whether it was written
 */
export async function repairTile(tx: Tx, { level, index, hashes }: RightTile, size: number): Promise<boolean> {
  if (hashes.length < fullWidth * hashBytes && (await lockLogHead(tx)) !== size) return false;
  await putLogTile(tx, level, index, hashes);
  return true;
}
