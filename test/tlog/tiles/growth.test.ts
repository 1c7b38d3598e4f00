// The tiles that a growth touches, and what stands in them, are those of Go's tlog.
import { hash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { formatTilePath } from "../../../src/tlog/tiles/tile-path.ts";
import { hashesAt, partialTiles } from "../../../src/tlog/tiles/widths.ts";
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

it("tiles grow to the same in any steps", () => {
  const whole = new TestLog(700);
  fc.assert(
    fc.property(fc.array(fc.nat(300), { maxLength: 5 }), (steps) => {
      const log = new TestLog();
      for (const step of steps) log.grow(testEntries(log.range.size, Math.min(log.range.size + step, 700)));
      log.grow(testEntries(log.range.size, 700));
      expect([...log.tiles.entries()].sort()).toEqual([...whole.tiles.entries()].sort());
    }),
    { numRuns: 20 },
  );
});

it("the widths at the largest size are exact", () => {
  const size = 2 ** 53 - 1;
  expect(partialTiles(size).map(({ level, width }) => [level, width])).toEqual([
    ...[0, 1, 2, 3, 4, 5].map((level) => [level, 255]),
    [6, 31],
  ]);
  expect(hashesAt(6, size)).toBe(31);
});
