import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { Pause } from "../../src/timing/pause.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

/** Lets time pass and promises settle, within this turn of the event loop: nothing else in the process can set a timer. */
async function pass(ms: number): Promise<void> {
  vi.advanceTimersByTime(ms);
  for (let step = 0; step < 10; step++) await undefined;
}

it("a pause lasts for its time, or until it is ended, and leaves no timer", async () => {
  const pause = new Pause();
  const over = vi.fn();
  void pause.wait(100).then(over);
  await pass(99);
  expect(over).not.toHaveBeenCalled();
  await pass(1);
  expect(over).toHaveBeenCalledTimes(1);
  void pause.wait(100).then(over);
  pause.end();
  await pass(0);
  expect(over).toHaveBeenCalledTimes(2);
  expect(vi.getTimerCount()).toBe(0);
});

it("an end without a pause does not shorten the next pause", async () => {
  const pause = new Pause();
  pause.end();
  const over = vi.fn();
  void pause.wait(100).then(over);
  await pass(99);
  expect(over).not.toHaveBeenCalled();
});
