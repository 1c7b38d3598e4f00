import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Ticker } from "../../src/timing/ticker.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it("a failure that lasts is told once a minute, and another one at once", async () => {
  const told: string[] = [];
  let failure = "no space left, open 'a'";
  let runs = 0;
  const work = async () => {
    runs += 1;
    throw new Error(failure);
  };
  const ticker = new Ticker(200, work, (error) => told.push((error as Error).message));
  await vi.advanceTimersByTimeAsync(59_000);
  failure = "no space left, open 'b'";
  await vi.advanceTimersByTimeAsync(500);
  expect([told, runs > 200]).toEqual([["no space left, open 'a'"], true]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(told).toEqual(["no space left, open 'a'", "no space left, open 'b'"]);
  failure = "read-only file system";
  await vi.advanceTimersByTimeAsync(200);
  expect(told.at(-1)).toBe(failure);
  await ticker.stop();
});
