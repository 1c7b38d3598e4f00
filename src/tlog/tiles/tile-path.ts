// Addresses of tiles and entry bundles by C2SP tlog-tiles.
import { TlogError } from "../error.ts";
import { isSize } from "../tree/ranges.ts";

/** How many hashes a full tile has, and how many entries a full bundle: 2^8. */
export const fullWidth = 256;

/** A tile. Its hash i is MTH of the entries (index × 256 + i) × 256^level to before (index × 256 + i + 1) × 256^level. */
export interface Tile {
  level: number;
  index: number;
  /** The number of its hashes. Those of a partial tile are the first of the full one. */
  width: number;
}

/** A bundle of the entries whose hashes the tile of level 0 with the same index and width has. */
export interface Bundle {
  level: "entries";
  index: number;
  width: number;
}

const maxLevel = 63;
const pattern = /^tile\/(entries|[0-9]{1,2})\/((?:x[0-9]{3}\/){0,5}[0-9]{3})(?:\.p\/([0-9]{1,3}))?$/;

/** Returns the path: `tile/0/x001/x234/067` or `tile/entries/000.p/5`. @throws TlogError `out_of_range` */
export function formatTilePath({ level, index, width }: Tile | Bundle): string {
  if (!isLevel(level) || !isSize(index) || !(Number.isInteger(width) && width >= 1 && width <= fullWidth)) {
    throw new TlogError("out_of_range", `there is no tile of level ${level}, index ${index} and width ${width}`);
  }
  let groups = String(index % 1000).padStart(3, "0");
  for (let rest = Math.floor(index / 1000); rest > 0; rest = Math.floor(rest / 1000)) {
    groups = `x${String(rest % 1000).padStart(3, "0")}/${groups}`;
  }
  return `tile/${level}/${groups}${width === fullWidth ? "" : `.p/${width}`}`;
}

/** @throws TlogError `bad_tile_path` for every text but those that `formatTilePath` returns */
export function parseTilePath(path: string): Tile | Bundle {
  const refused = () => new TlogError("bad_tile_path", "this is not the path of a tile or an entry bundle");
  const [, level, groups, width] = pattern.exec(path) ?? [];
  if (level === undefined || groups === undefined) throw refused();
  const tile = {
    level: level === "entries" ? level : Number(level),
    index: Number(groups.replaceAll(/[x/]/g, "")),
    width: width === undefined ? fullWidth : Number(width),
  } as Tile | Bundle;
  const isTile = isLevel(tile.level) && isSize(tile.index) && tile.width >= 1 && tile.width <= fullWidth;
  // The pattern also takes longer texts of the same tile, such as `x000/001` for `001`.
  if (!isTile || formatTilePath(tile) !== path) throw refused();
  return tile;
}

function isLevel(level: number | "entries"): boolean {
  return level === "entries" || (Number.isInteger(level) && level >= 0 && level <= maxLevel);
}
