import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createDeferred, untilAborted } from "../../src/timing/wait.ts";

const gone = new Error("gone");

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function abortable() {
  const controller = new AbortController();
  const { signal } = controller;
  return { signal, abort: () => controller.abort(gone), listeners: () => getEventListeners(signal, "abort").length };
}

test.each(["resolve", "reject", "timeout", "abort"] as const)(
  "a deferred leaves no timer and no listener after %s",
  async (end) => {
    const { signal, abort, listeners } = abortable();
    const late = new Error("late");
    const deferred = createDeferred<number>({ signal, ms: 1_000, onTimeout: ({ reject }) => reject(late) });
    const outcome = deferred.promise.catch((error) => error);
    expect([listeners(), vi.getTimerCount()]).toEqual([1, 1]);
    if (end === "resolve") deferred.resolve(1);
    else if (end === "reject") deferred.reject(gone);
    else if (end === "abort") abort();
    else vi.advanceTimersByTime(1_000);
    expect([listeners(), vi.getTimerCount()]).toEqual([0, 0]);
    expect(await outcome).toBe(end === "resolve" ? 1 : end === "timeout" ? late : gone);
  },
);

describe("untilAborted", () => {
  test("leaves no listener on a long-lived signal, however the promise ends", async () => {
    const { signal, abort, listeners } = abortable();
    for (let count = 0; count < 100; count++) {
      await untilAborted(Promise.resolve(count), signal);
      await untilAborted(Promise.reject(gone), signal).catch(() => {});
    }
    expect(listeners()).toBe(0);
    const waiting = untilAborted(new Promise(() => {}), signal);
    abort();
    await expect(waiting).rejects.toBe(gone);
  });

  test("a failure after the wait is not unhandled", async () => {
    vi.useRealTimers();
    const unhandled = vi.fn();
    process.on("unhandledRejection", unhandled);
    const { signal, abort } = abortable();
    const { promise, reject } = Promise.withResolvers<void>();
    abort();
    await expect(untilAborted(promise, signal)).rejects.toBe(gone);
    reject(new Error("nobody waits any more"));
    await new Promise(setImmediate);
    process.off("unhandledRejection", unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });
});
