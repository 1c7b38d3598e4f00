import { formatBundle } from "../../../src/tlog/tiles/bundle.ts";
import { proveInclusion } from "../../../src/tlog/tiles/prove.ts";
import { formatTilePath, fullWidth, parseTilePath, type Tile } from "../../../src/tlog/tiles/tile-path.ts";
import { TestLog, testEntries, touchedTiles } from "../test-log.ts";
import { base64, type LogVectors, vectorsOf } from "./vector.ts";

const ofPath = vectorsOf("tile_path");
const ofTiles = vectorsOf("tiles");
const ofBundle = vectorsOf("bundle");

/** The tiles of a log, from which the proof of an entry is read. */
async function tilesOf(size: number, index: number) {
  const log = new TestLog(size);
  const tree = await log.open();
  const tiles = Object.fromEntries(touchedTiles(0, size).map((tile) => [formatTilePath(tile), base64(log.read(tile))]));
  const proof = (await proveInclusion(tree, index)).map(base64);
  return { input: { size, root: base64(await tree.root()), tiles, index }, proof };
}

const paths = [
  ["full", "A full tile.", "tile/0/000"],
  ["partial", "A partial tile.", "tile/0/000.p/255"],
  ["in-groups", "The example of C2SP tlog-tiles.", "tile/1/x001/x234/067"],
  ["highest-level", "Level 63.", "tile/63/999.p/1"],
  ["largest-index", "The index 2^53 - 1.", "tile/0/x009/x007/x199/x254/x740/991"],
  ["of-a-bundle", "A bundle of entries.", "tile/entries/x001/000.p/9"],
] as const;

const badPaths = [
  ["of-level-64", "There are levels 0 to 63.", "tile/64/000"],
  ["with-zero-before-the-level", "The level is 1.", "tile/01/000"],
  ["of-level-data", "Go calls bundles so; C2SP does not.", "tile/data/000"],
  ["with-the-height", "Go has the height in its paths; C2SP does not.", "tile/8/0/000"],
  ["with-two-digits", "A group has three digits.", "tile/0/00"],
  ["with-four-digits", "A group has three digits.", "tile/0/1000"],
  ["with-empty-group", "000 is enough.", "tile/0/x000/001"],
  ["without-x", "Groups before the last begin with x.", "tile/0/001/000"],
  ["with-x-in-the-last-group", "The last group has no x.", "tile/0/x001/x000"],
  ["of-width-0", "An empty tile is not there.", "tile/0/000.p/0"],
  ["of-width-256", "A full tile has no width.", "tile/0/000.p/256"],
  ["with-zero-before-the-width", "The width is 1.", "tile/0/000.p/01"],
  ["without-width", "There is no width.", "tile/0/000.p/"],
  ["with-slash-at-the-end", "A path ends with its tile.", "tile/0/000/"],
  ["with-slash-at-the-beginning", "A path begins with tile.", "/tile/0/000"],
  ["with-line-end", "A line feed follows.", "tile/0/000\n"],
  ["of-index-2-to-the-53", "An index is an integer up to 2^53 - 1.", "tile/0/x009/x007/x199/x254/x740/992"],
  ["of-another-case", "Levels have small letters.", "tile/Entries/000"],
] as const;

const entries = [Buffer.from("{}"), Buffer.alloc(0), Buffer.alloc(1024, "x"), Buffer.from("é")];
const bundle = Buffer.from(formatBundle(entries));

export async function validTiles(): Promise<LogVectors> {
  const ofSize = async (size: number, index: number, description: string) => {
    const { input, proof } = await tilesOf(size, index);
    return ofTiles.good(description, input, { proof });
  };
  return {
    ...Object.fromEntries(
      paths.map(([name, description, path]) => [
        `tile-path-${name}`,
        ofPath.good(description, { path }, parseTilePath(path)),
      ]),
    ),
    "tiles-one-partial": await ofSize(7, 3, "One partial tile."),
    "tiles-one-full": await ofSize(256, 9, "A full tile under a partial one of width 1."),
    "tiles-full-and-partial": await ofSize(300, 200, "A full tile, and two partial ones."),
    bundle: ofBundle.good(
      "Entries of 2, 0, 1,024 and 2 bytes.",
      { bundle: base64(bundle), width: 4 },
      {
        entries: entries.map(base64),
      },
    ),
    "bundle-empty": ofBundle.good("No entries.", { bundle: "", width: 0 }, { entries: [] }),
  };
}

export async function invalidTiles(): Promise<LogVectors> {
  const { input } = await tilesOf(300, 200);
  const withTile = (path: string, change: (bytes: Buffer) => Buffer) => {
    const bytes = Buffer.from(input.tiles[path] as string, "base64");
    return { ...input, tiles: { ...input.tiles, [path]: base64(change(bytes)) } };
  };
  const flip = (bytes: Buffer) => Buffer.from(bytes.map((byte, at) => (at === 100 % bytes.length ? byte ^ 1 : byte)));
  const [full, partial, top] = touchedTiles(0, 300).map(formatTilePath) as [string, string, string];
  const other = new TestLog();
  other.grow([Buffer.from("another"), ...testEntries(1, 256)]);
  const foreign: Tile = { level: 0, index: 0, width: fullWidth };
  const badBundle = (description: string, bytes: Uint8Array, width: number) =>
    ofBundle.bad("bad_bundle", description, { bundle: base64(bytes), width });
  return {
    ...Object.fromEntries(
      badPaths.map(([name, description, path]) => [
        `tile-path-${name}`,
        ofPath.bad("bad_tile_path", description, { path }),
      ]),
    ),
    "tiles-flipped-bit-in-full": ofTiles.bad("wrong_tile", "One bit of the full tile.", withTile(full, flip)),
    "tiles-flipped-bit-in-partial": ofTiles.bad("wrong_tile", "One bit of the partial tile.", withTile(partial, flip)),
    "tiles-flipped-bit-in-parent": ofTiles.bad("wrong_tile", "One bit of the tile above.", withTile(top, flip)),
    "tiles-of-another-log": ofTiles.bad(
      "wrong_tile",
      "The full tile is that of a log with another first entry.",
      withTile(full, () => Buffer.from(other.read(foreign))),
    ),
    "tiles-cut-off": ofTiles.bad(
      "bad_tile",
      "The first byte of a tile is missing.",
      withTile(partial, (b) => b.subarray(1)),
    ),
    "tiles-too-wide": ofTiles.bad(
      "bad_tile",
      "A partial tile has one hash more than the tree.",
      withTile(partial, (bytes) => Buffer.concat([bytes, bytes.subarray(0, 32)])),
    ),
    "bundle-cut-off-in-an-entry": badBundle("The last byte is missing.", bundle.subarray(0, -1), 4),
    "bundle-cut-off-in-a-length": badBundle("One byte of the last length.", bundle.subarray(0, -3), 4),
    "bundle-with-more-entries": badBundle("Four entries, where three are due.", bundle, 3),
    "bundle-with-fewer-entries": badBundle("Four entries, where five are due.", bundle, 5),
    "bundle-with-too-long-entry": badBundle("1,025 bytes.", Buffer.concat([Buffer.of(4, 1), Buffer.alloc(1025)]), 1),
    "bundle-with-little-endian-length": badBundle(
      "The length is 2 in little-endian order.",
      Buffer.from("\u0002\u0000{}"),
      1,
    ),
  };
}
