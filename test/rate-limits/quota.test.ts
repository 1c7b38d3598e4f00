import { describe, expect, it } from "vitest";
import { parseQuota } from "../../src/rate-limits/quota.ts";

describe("a quota", () => {
  it.each([
    ["1/1s", 1, 1],
    ["20/1h", 20, 3600],
    ["300/10m", 300, 600],
    ["7/2d", 7, 172_800],
    ["1000000/366d", 1_000_000, 366 * 86_400],
    ["1000000/8784h", 1_000_000, 366 * 86_400],
    ["0000001/00001s", 1, 1],
    ["5/99999s", 5, 99_999],
  ])("is read: %s", (text, calls, windowSeconds) => {
    expect(parseQuota(text)).toEqual({ calls, windowSeconds });
  });

  it.each([
    ...["0/1h", "1000001/1h", "1/0s", "1/367d", "1/8785h", "1/99999d"],
    ...["", "20", "20/h", "20/1", "20/1w", "20/1H", "/1h", "-1/1h", "1.5/1h", "20/1.5h", "a/1h"],
    ...[" 20/1h", "20/1h ", "20/1h\n", "00000001/1s", "1/000001s", "20/1hh", "20//1h"],
  ])("is refused: %j", (text) => {
    expect(() => parseQuota(text)).toThrow(
      new Error(
        `must be calls/window, such as 20/1h: 1 to 1000000 calls, and a window from 1s to 366d in s, m, h or d, not ${JSON.stringify(text)}`,
      ),
    );
  });
});
