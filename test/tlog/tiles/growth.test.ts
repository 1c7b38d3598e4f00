// The tiles that a growth touches, and what stands in them, are those of Go's tlog.
import { hash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { formatTilePath } from "../../../src/tlog/tiles/tile-path.ts";
import { hashesAt, partialTiles, widthAt } from "../../../src/tlog/tiles/widths.ts";
import { ask } from "../reference.ts";
import { TestLog, testEntries, touchedTiles } from "../test-log.ts";

/** The tiles of Go by their paths, with the SHA-256 of what stands in them. */
type Tiles = Record<string, string>;

function touched(log: TestLog, from: number, to: number): Tiles {
  const entries = touchedTiles(from, to).map((tile) => [formatTilePath(tile), hash("sha256", log.read(tile))]);
  return Object.fromEntries(entries);
}

/** Go's list ends every growth with the tiles that are as they were, if they are partial. */
function withoutUnchanged(tiles: Tiles, from: number): Tiles {
  const before = new Set(partialTiles(from).map(formatTilePath));
  return Object.fromEntries(Object.entries(tiles).filter(([path]) => !before.has(path)));
}

it("every growth between sizes to 300 by one, and some larger ones", async () => {
  const growths = Array.from({ length: 300 }, (_, size) => [size, size + 1] as const);
  for (const from of [0, 1, 100, 255, 256, 257])
    for (const to of [256, 257, 300]) if (from < to) growths.push([from, to]);
  const theirs = await ask<Tiles[]>("newTiles", { growths });
  const log = new TestLog(300);
  for (const [at, [from, to]] of growths.entries()) {
    expect({ from, to, ...touched(log, from, to) }).toEqual({
      from,
      to,
      ...withoutUnchanged(theirs[at] as Tiles, from),
    });
  }
});

it("growths around 256^2 entries", async () => {
  const sizes = [65_279, 65_280, 65_281, 65_535, 65_536, 65_537];
  const growths = sizes.flatMap((from) => sizes.filter((to) => from < to).map((to) => [from, to] as const));
  const theirs = await ask<Tiles[]>("newTiles", { growths });
  const log = new TestLog(65_537);
  for (const [at, [from, to]] of growths.entries()) {
    expect({ from, to, ...touched(log, from, to) }).toEqual({
      from,
      to,
      ...withoutUnchanged(theirs[at] as Tiles, from),
    });
  }
});

it("tiles grow to the same in any steps", () => {
  const whole = new TestLog(3000);
  fc.assert(
    fc.property(fc.array(fc.nat(900), { maxLength: 5 }), (steps) => {
      const log = new TestLog();
      for (const step of steps) log.grow(testEntries(log.range.size, Math.min(log.range.size + step, 3000)));
      log.grow(testEntries(log.range.size, 3000));
      expect([...log.tiles.entries()].sort()).toEqual([...whole.tiles.entries()].sort());
    }),
    { numRuns: 20 },
  );
});

it("a tree has the tiles of the example in C2SP tlog-tiles", () => {
  const widths = (size: number) => partialTiles(size).map(({ level, index, width }) => [level, index, width]);
  expect(widths(70_000)).toEqual([
    [0, 273, 112],
    [1, 1, 17],
    [2, 0, 1],
  ]);
  expect([widthAt(0, 272, 70_000), widthAt(0, 273, 70_000), widthAt(0, 274, 70_000)]).toEqual([256, 112, 0]);
  expect(widths(256)).toEqual([[1, 0, 1]]);
  expect(widths(0)).toEqual([]);
});

it("the widths at the largest size are exact", () => {
  const size = 2 ** 53 - 1;
  expect(partialTiles(size).map(({ level, width }) => [level, width])).toEqual([
    ...[0, 1, 2, 3, 4, 5].map((level) => [level, 255]),
    [6, 31],
  ]);
  expect(hashesAt(6, size)).toBe(31);
});
