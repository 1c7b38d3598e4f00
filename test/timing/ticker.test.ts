import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Ticker } from "../../src/timing/ticker.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Work that ends when the test says so. */
function controlledWork() {
  const runs: { signal: AbortSignal; end: () => void; fail: (error: Error) => void }[] = [];
  const work = (signal: AbortSignal) =>
    new Promise<void>((resolve, reject) => runs.push({ signal, end: resolve, fail: reject }));
  return { runs, work };
}

describe("Ticker", () => {
  test("works at once, and again at each interval", async () => {
    const { runs, work } = controlledWork();
    const ticker = new Ticker(1_000, work, () => {});
    expect(runs).toHaveLength(1);
    runs[0]?.end();
    await vi.advanceTimersByTimeAsync(999);
    expect(runs).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toHaveLength(2);
    runs[1]?.end();
    await ticker.stop();
  });

  test("leaves out the ticks that come while work runs", async () => {
    const { runs, work } = controlledWork();
    const ticker = new Ticker(1_000, work, () => {});
    await vi.advanceTimersByTimeAsync(5_500);
    expect(runs).toHaveLength(1);
    runs[0]?.end();
    await vi.advanceTimersByTimeAsync(500);
    expect(runs).toHaveLength(2);
    runs[1]?.end();
    await ticker.stop();
  });

  test("reports a failure, and works again at the next tick", async () => {
    const { runs, work } = controlledWork();
    const failures: unknown[] = [];
    const ticker = new Ticker(1_000, work, (error) => failures.push(error));
    const failure = new Error("away");
    runs[0]?.fail(failure);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(failures).toEqual([failure]);
    expect(runs).toHaveLength(2);
    runs[1]?.end();
    await ticker.stop();
  });

  test("stop aborts the running work and resolves only when it has ended", async () => {
    const { runs, work } = controlledWork();
    const failures: unknown[] = [];
    const ticker = new Ticker(1_000, work, (error) => failures.push(error));
    let isStopped = false;
    const stopped = ticker.stop().then(() => {
      isStopped = true;
    });
    expect(runs[0]?.signal.aborted).toBe(true);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(isStopped).toBe(false);
    runs[0]?.fail(new Error("aborted"));
    await stopped;
    expect(failures).toEqual([]);
  });

  test("works no more after stop", async () => {
    const { runs, work } = controlledWork();
    const ticker = new Ticker(1_000, work, () => {});
    runs[0]?.end();
    await ticker.stop();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(runs).toHaveLength(1);
  });
});
