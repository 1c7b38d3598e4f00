import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { SharedReads } from "../../src/calls/shared-reads.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

it("a caller that comes after one that has left waits no longer than others", async () => {
  const reads = new SharedReads<string>(() => false);
  const { signal } = new AbortController();
  void reads.get("key", { signal, make: () => new Promise(() => {}) });
  const leaving = new AbortController();
  const second = reads.get("key", { signal: leaving.signal, make: async () => "second" });
  leaving.abort(new Error("left"));
  await expect(second).rejects.toThrow("left");
  vi.advanceTimersByTime(100);
  const third = reads.get("key", { signal, make: async () => "third" });
  vi.advanceTimersByTime(100);
  expect(await third).toBe("third");
});
