import { expect, it } from "vitest";
import { toUtcText } from "../../src/transcoding/encode.ts";

it("toUtcText writes the same text as Date, from the year 1 to the year 9999", () => {
  const first = Date.parse("0001-01-01T00:00:00.000Z");
  const last = Date.parse("9999-12-31T23:59:59.999Z");
  const random = Array.from({ length: 1_000 }, () => first + Math.floor(Math.random() * (last - first)));
  const edges = [first, last, -1, 0, 1, 999, 1000, 59_999, 86_399_999, 86_400_000, Date.parse("2028-02-29T12:00:00Z")];
  for (const ms of [...edges, ...edges.map((ms) => ms + 1), ...random].filter((ms) => ms <= last)) {
    expect(toUtcText(ms)).toBe(new Date(ms).toISOString());
  }
  for (const ms of [first - 1, last + 1, Number.NaN]) expect(() => toUtcText(ms)).toThrow(RangeError);
});
