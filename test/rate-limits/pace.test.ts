import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { pace } from "../../src/rate-limits/pacing.ts";
import { unlimitedRequest } from "../../src/rate-limits/request-limits.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Limits that let a call wait this often. */
const waiting = (...waits: number[]) => ({ ...unlimitedRequest, spendMore: vi.fn(() => waits.shift() ?? 0) });

it("pace spends one call, and does not wait if the call is allowed", async () => {
  const limits = waiting();
  await pace(limits, new AbortController().signal);
  expect(limits.spendMore).toHaveBeenCalledOnce();
  expect(vi.getTimerCount()).toBe(0);
});

it("pace waits in milliseconds and tries again until the call is allowed", async () => {
  const limits = waiting(1, 700);
  const done = vi.fn();
  const paced = pace(limits, new AbortController().signal).then(done);
  await vi.advanceTimersByTimeAsync(1);
  expect(limits.spendMore).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(699);
  expect(done).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  await paced;
  expect(limits.spendMore).toHaveBeenCalledTimes(3);
});

it("pace ends with the signal's reason", async () => {
  const gone = new AbortController();
  const paced = pace(waiting(1000), gone.signal);
  gone.abort(new Error("gone"));
  await expect(paced).rejects.toThrow("gone");
  expect(vi.getTimerCount()).toBe(0);
});
