import { describe, expect, it } from "vitest";
import { inclusionRanges, isSize, perfectSubtrees } from "../../../src/tlog/tree/ranges.ts";
import { consistencyRanges } from "../consistency.ts";

const outOfRange = expect.objectContaining({
  name: "TlogError",
  code: "out_of_range",
  message: expect.stringMatching(/\d/),
});
const noSizes = [-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53];

describe("the parts of a tree of seven entries in RFC 6962, section 2.1.3", () => {
  it("make its inclusion proofs", () => {
    // d0: [b, h, l]; d3: [c, g, l]; d4: [f, j, k]; d6: [i, k]
    expect(inclusionRanges(0, 7)).toEqual([
      [1, 2],
      [2, 4],
      [4, 7],
    ]);
    expect(inclusionRanges(3, 7)).toEqual([
      [2, 3],
      [0, 2],
      [4, 7],
    ]);
    expect(inclusionRanges(4, 7)).toEqual([
      [5, 6],
      [6, 7],
      [0, 4],
    ]);
    expect(inclusionRanges(6, 7)).toEqual([
      [4, 6],
      [0, 4],
    ]);
  });

  it("make its consistency proofs", () => {
    // 3: [c, d, g, l]; 4: [l]; 6: [i, j, k]
    expect(consistencyRanges(3, 7)).toEqual([
      [2, 3],
      [3, 4],
      [0, 2],
      [4, 7],
    ]);
    expect(consistencyRanges(4, 7)).toEqual([[4, 7]]);
    expect(consistencyRanges(6, 7)).toEqual([
      [4, 6],
      [6, 7],
      [0, 4],
    ]);
    expect(consistencyRanges(7, 7)).toEqual([]);
  });
});

it("a range consists of the fewest perfect subtrees", () => {
  const heights = (from: number, to: number) => perfectSubtrees([from, to]).map(({ height, index }) => [height, index]);
  expect(heights(0, 0)).toEqual([]);
  expect(heights(0, 8)).toEqual([[3, 0]]);
  expect(heights(0, 7)).toEqual([
    [2, 0],
    [1, 2],
    [0, 6],
  ]);
  expect(heights(4, 7)).toEqual([
    [1, 2],
    [0, 6],
  ]);
  expect(heights(3, 9)).toEqual([
    [0, 3],
    [2, 1],
    [0, 8],
  ]);
  expect(heights(0, 2 ** 53 - 1)).toHaveLength(53);
});

it("what no tree has is refused", () => {
  for (const number of noSizes) {
    expect(isSize(number), `${number}`).toBe(false);
    expect(() => inclusionRanges(number, 8), `${number}`).toThrow(outOfRange);
    expect(() => inclusionRanges(0, number), `${number}`).toThrow(outOfRange);
    expect(() => consistencyRanges(number, 8), `${number}`).toThrow(outOfRange);
    expect(() => consistencyRanges(1, number), `${number}`).toThrow(outOfRange);
  }
  expect(() => inclusionRanges(8, 8)).toThrow(outOfRange);
  expect(() => inclusionRanges(0, 0)).toThrow(outOfRange);
  expect(() => consistencyRanges(0, 8)).toThrow(outOfRange);
  expect(() => consistencyRanges(9, 8)).toThrow(outOfRange);
  expect(isSize(2 ** 53 - 1)).toBe(true);
});
