import { expect, it } from "vitest";
import { describeDuration } from "../../../src/ledger/clock/duration.ts";

it.each([
  [0, "0 min 0 s"],
  [499, "0 min 0 s"],
  [500, "0 min 1 s"],
  [59_499, "0 min 59 s"],
  [59_500, "1 min 0 s"],
  [-80_000, "1 min 20 s"],
  [3_599_000, "59 min 59 s"],
  [3_600_000, "1 h 0 min"],
  [86_399_000, "23 h 59 min"],
  [86_400_000, "1 d 0 h"],
  [-(1095 * 24 + 3) * 3_600_000, "1095 d 3 h"],
])("%i ms are described as %s", (ms, text) => {
  expect(describeDuration(ms)).toBe(text);
});
