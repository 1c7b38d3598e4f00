import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { contextValuesOf } from "../../src/calls/call.ts";
import { unlimitedRequest } from "../../src/rate-limits/request-limits.ts";
import { StreamPace } from "../../src/services/stream-pace.ts";
import { anonymousCall, callOrigin } from "../support/call-context.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** The pace of a stream among those of its service, with its limits. */
function streamPace(paces = new StreamPace()) {
  const spendMore = vi.fn(() => 0);
  const call = anonymousCall({ origin: callOrigin({ limits: { ...unlimitedRequest, spendMore } }) });
  return { pace: paces.of({ signal: new AbortController().signal, values: contextValuesOf(call) }), spendMore };
}

/** Whether a stream goes on within this turn of the event loop. */
async function goesOn(pace: () => Promise<void>): Promise<boolean> {
  const done = vi.fn();
  void pace().then(done);
  await vi.advanceTimersByTimeAsync(0);
  return done.mock.calls.length === 1;
}

it("streams that have rested take turns: 16 items are made in one turn of the event loop", async () => {
  const paces = new StreamPace();
  let made = 0;
  for (let count = 0; count < 40; count++) {
    void streamPace(paces)
      .pace()
      .then(() => (made += 1));
  }
  const counts: number[] = [];
  for (let count = 0; count < 3; count++) {
    await Promise.resolve().then(() => undefined);
    counts.push(made);
    await new Promise(setImmediate);
  }
  expect(counts).toEqual([16, 32, 40]);
});

it("of streams that have rested, some wait for a later turn; one in the middle of a portion goes on", async () => {
  const paces = new StreamPace();
  const [busy, ...rested] = Array.from({ length: 40 }, () => streamPace(paces).pace);
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
