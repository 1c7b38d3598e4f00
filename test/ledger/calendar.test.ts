import { expect, it } from "vitest";
import { cityDay, dateOf, startOf } from "../../src/ledger/calendar.ts";

it.each([
  ["2026-02-28T00:00:00.000Z", "2026-02-28", 1],
  ["2026-02-28T23:59:59.999Z", "2026-02-28", 1],
  ["2026-03-01T00:00:00.000Z", "2026-03-01", 2],
  ["2026-02-27T23:59:59.999Z", "2026-02-27", 0],
  ["2028-03-01T12:00:00.000Z", "2028-03-01", 733],
])("%s is on %s, which is day %i after the epoch 2026-02-28", (time, date, day) => {
  const ms = Date.parse(time);
  expect(dateOf(ms)).toBe(date);
  expect(dateOf(startOf(date))).toBe(date);
  expect(cityDay(ms, "2026-02-28")).toBe(day);
});
