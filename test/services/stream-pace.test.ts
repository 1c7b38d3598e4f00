import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { contextValuesOf, type RequestContext } from "../../src/calls/context.ts";
import { unlimitedRequest } from "../../src/rate-limits/request-limits.ts";
import { createPace } from "../../src/services/stream-pace.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** The pace of a stream, with its limits. */
function streamPace(spendMore = vi.fn(() => 0)) {
  const request = { limits: { ...unlimitedRequest, spendMore } } as unknown as RequestContext;
  return { pace: createPace({ signal: new AbortController().signal, values: contextValuesOf(request) }), spendMore };
}

/** Whether a stream goes on within this turn of the event loop. */
async function goesOn(pace: () => Promise<void>): Promise<boolean> {
  const done = vi.fn();
  void pace().then(done);
  await vi.advanceTimersByTimeAsync(0);
  return done.mock.calls.length === 1;
}

it("of streams that have rested, some wait for a later turn; one in the middle of a portion goes on", async () => {
  const [busy, ...rested] = Array.from({ length: 40 }, () => streamPace().pace);
  expect(await goesOn(busy as () => Promise<void>)).toBe(true);
  const waiting = vi.fn();
  for (const pace of rested) void pace().then(waiting);
  expect(await goesOn(busy as () => Promise<void>)).toBe(true);
  expect(waiting.mock.calls.length).toBeLessThan(rested.length);
  await vi.runAllTimersAsync();
  expect(waiting).toHaveBeenCalledTimes(rested.length);
});

it("a stream spends a further call for each hundred items", async () => {
  const { pace, spendMore } = streamPace();
  for (let item = 0; item < 100; item++) await pace();
  expect(spendMore).not.toHaveBeenCalled();
  for (let item = 0; item < 101; item++) await pace();
  expect(spendMore).toHaveBeenCalledTimes(2);
});
