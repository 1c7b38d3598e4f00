import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { TlogError } from "../../../src/tlog/error.ts";
import { type Bundle, formatTilePath, parseTilePath, type Tile } from "../../../src/tlog/tiles/tile-path.ts";
import { changedText } from "../mutations.ts";
import { ask } from "../reference.ts";

const tiles: fc.Arbitrary<Tile | Bundle> = fc.record({
  level: fc.oneof(fc.nat(63), fc.constant("entries" as const)),
  index: fc.oneof(fc.nat(2000), fc.constantFrom(999, 1000, 999_999, 1_000_000), fc.maxSafeNat()),
  width: fc.oneof(fc.integer({ min: 1, max: 256 }), fc.constantFrom(255, 256)),
}) as fc.Arbitrary<Tile | Bundle>;

const parsed = (path: string): Tile | Bundle | undefined => {
  try {
    return parseTilePath(path);
  } catch (error) {
    expect(error).toBeInstanceOf(TlogError);
    expect(error).toMatchObject({ code: "bad_tile_path" });
    return undefined;
  }
};

describe("paths of tiles", () => {
  it("are those of C2SP tlog-tiles", () => {
    const paths: [string, Tile | Bundle][] = [
      ["tile/0/000", { level: 0, index: 0, width: 256 }],
      ["tile/0/000.p/1", { level: 0, index: 0, width: 1 }],
      ["tile/63/999.p/255", { level: 63, index: 999, width: 255 }],
      ["tile/1/x001/000", { level: 1, index: 1000, width: 256 }],
      ["tile/2/x001/x234/067", { level: 2, index: 1_234_067, width: 256 }],
      ["tile/entries/x001/x234/067.p/9", { level: "entries", index: 1_234_067, width: 9 }],
      ["tile/0/x009/x007/x199/x254/x740/991", { level: 0, index: 2 ** 53 - 1, width: 256 }],
    ];
    for (const [path, tile] of paths) {
      expect(formatTilePath(tile)).toBe(path);
      expect(parseTilePath(path)).toEqual(tile);
    }
  });

  it("have no other form", () => {
    const bad = [
      ..."tile tile/ tile/0 tile/0/ tile/0/0 tile/0/00 tile/0/0000 tile/0/1000 tile/0/x000 tile/0/x000/000".split(" "),
      ..."tile/0/000/ /tile/0/000 tile//0/000 tile/0/000.p tile/0/000.p/ tile/0/000.p/0 tile/0/000.p/256".split(" "),
      ..."tile/0/000.p/01 tile/0/000.p/257 tile/0/000.p/1000 tile/0/000.p/-1 tile/0/000.p/1/ tile/00/000".split(" "),
      ..."tile/01/000 tile/64/000 tile/100/000 tile/-1/000 tile/+1/000 tile/data/000 tile/Entries/000".split(" "),
      ..."tile/0/001/000 tile/0/x001/x000 tile/0/X001/000 tile/0/x001x000 tile/0/x001//000 tile/0/x1/000".split(" "),
      ..."tile/0/000.P/1 tile/0/0x0 tile/0/0e0 tile/8/0/000 tile/0/000?x tile/0/%30%30%30 tile/0/٠٠٠".split(" "),
      ...["", "tile/0/000\n", " tile/0/000", "tile/0/000 ", "tile/0/000.p/1\n", "tile/0/000\0"],
      "tile/0/x009/x007/x199/x254/x740/992",
      "tile/0/x001/x009/x007/x199/x254/x740/991",
      `tile/0/${"x001/".repeat(10_000)}001`,
    ];
    for (const path of bad) expect(parsed(path), path).toBeUndefined();
  });

  it("are read as Go reads them, with any change", async () => {
    const samples = fc.sample(
      tiles.map(formatTilePath).chain((path) => fc.oneof(fc.constant(path), changedText(path))),
      { numRuns: 3000, seed: 1 },
    );
    const theirs = await ask<([number, number, number] | null)[]>("parsePaths", { paths: samples });
    for (const [at, path] of samples.entries()) {
      const tile = parsed(path);
      const [level, index, width] = theirs[at] ?? [];
      // Go has larger numbers.
      const isOurs = index !== undefined && Number.isSafeInteger(index);
      const same = isOurs ? { level: level === -1 ? "entries" : level, index, width } : undefined;
      expect({ path, tile }).toEqual({ path, tile: same });
    }
  });

  it("no tile has numbers without a path", () => {
    for (const bad of [
      { level: 64 },
      { level: -1 },
      { level: 0.5 },
      { index: -1 },
      { index: 2 ** 53 },
      { width: 0 },
      { width: 257 },
    ]) {
      expect(() => formatTilePath({ level: 0, index: 0, width: 1, ...bad })).toThrow(
        expect.objectContaining({ code: "out_of_range" }),
      );
    }
  });
});
