// The stop, step by step. Time is simulated.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { Shutdown, type Step } from "../../src/app/shutdown.ts";

const drainMs = 2_000;
let warnings: string[];
let shutdown: Shutdown;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  warnings = [];
  shutdown = new Shutdown((message) => warnings.push(message));
  return () => vi.useRealTimers();
});

const never: Step = () => new Promise(() => {});
const done: Step = async () => {};

/** Runs the stop. @returns the milliseconds that it took by the simulated clock */
async function run(ms = drainMs): Promise<number> {
  const begun = performance.now();
  let endedAt: number | undefined;
  const running = shutdown.run(ms).finally(() => {
    endedAt = performance.now();
  });
  running.catch(() => {});
  while (endedAt === undefined) await vi.advanceTimersByTimeAsync(50);
  await running;
  return endedAt - begun;
}

describe("a stop", () => {
  it("is announced, waits for its delay, and then takes its steps", async () => {
    const step = vi.fn(done);
    shutdown.push(step, "a step");
    const running = shutdown.runAfter(30_000, drainMs);
    expect([shutdown.announced.aborted, shutdown.signal.aborted]).toEqual([true, false]);
    await vi.advanceTimersByTimeAsync(29_900);
    expect(step).not.toHaveBeenCalled();
    expect(shutdown.signal.aborted).toBe(false);
    await vi.advanceTimersByTimeAsync(100);
    await running;
    expect(step).toHaveBeenCalledTimes(1);
  });

  it("begins at once when it is asked for without the delay that it waits for", async () => {
    const step = vi.fn(done);
    shutdown.push(step, "a step");
    const running = shutdown.runAfter(30_000, drainMs);
    await Promise.all([shutdown.runAfter(0, drainMs), running]);
    expect(step).toHaveBeenCalledTimes(1);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("takes the newest step first, each after the end of the one before", async () => {
    const events: string[] = [];
    for (const name of ["first", "second", "third"]) {
      shutdown.push(async () => {
        events.push(`${name} begins`);
        await Promise.resolve();
        events.push(`${name} ends`);
      }, name);
    }
    await run();
    const order = ["third", "second", "first"];
    expect(events).toEqual(order.flatMap((name) => [`${name} begins`, `${name} ends`]));
    expect(warnings).toEqual([]);
  });

  it("takes all steps once, although it is asked for twice and one of them fails", async () => {
    const step = vi.fn(done);
    shutdown.push(step, "a step");
    shutdown.push(() => Promise.reject(new Error("It failed.")), "a step that fails");
    await expect(Promise.all([run(), shutdown.run(0)])).rejects.toThrow("It failed.");
    await expect(shutdown.run(0)).rejects.toThrow("It failed.");
    expect(step).toHaveBeenCalledTimes(1);
  });

  it("leaves steps behind that do not end, and takes the others", async () => {
    const step = vi.fn(done);
    shutdown.push(step, "the oldest");
    shutdown.push(never, "a silent disk");
    shutdown.push(never, "a silent database");
    const ms = await run();
    expect(warnings).toEqual([
      "the stop continues without waiting any longer for: a silent database",
      "the stop continues without waiting any longer for: a silent disk",
    ]);
    expect(step).toHaveBeenCalledTimes(1);
    // The first one gets the time for all steps, the second one the minimum.
    expect(ms).toBeGreaterThanOrEqual(drainMs + 4_000);
    expect(ms).toBeLessThan(drainMs + 4_500);
  });

  it("ends within the drain time and 9 s, although no step of many ends", async () => {
    shutdown.pushLast(never, "the database server");
    for (let count = 0; count < 20; count++) shutdown.push(never, `step ${count}`);
    expect(await run()).toBeLessThan(drainMs + 9_000);
    expect(warnings).toHaveLength(21);
  });

  it("gives a step that is pushed as the last one all the time that is left, and tells it when that is over", async () => {
    const endsAt = performance.now() + drainMs + 8_500;
    const told = vi.fn<Step>(() => new Promise((resolve) => setTimeout(resolve, drainMs + 8_000)));
    shutdown.pushLast(told, "the database server");
    const ms = await run();
    expect(told).toHaveBeenCalledExactlyOnceWith(endsAt);
    expect(warnings).toEqual([]);
    expect(ms).toBeGreaterThanOrEqual(drainMs + 8_000);
  });

  it("takes less time when some of it has passed already", async () => {
    shutdown.pushLast(never, "the database server");
    expect(await run(-3_000)).toBeLessThanOrEqual(5_600);
  });

  it("takes a step at once that is added when it is over, and ignores its failure", async () => {
    await run();
    const late = vi.fn<Step>(() => Promise.reject(new Error("It failed.")));
    shutdown.push(late, "a late step");
    expect(late).toHaveBeenCalledTimes(1);
  });
});

describe("the signal of a stop", () => {
  const stopping = expect.objectContaining({ code: "unavailable", message: "The service is stopping." });

  it("aborts before the first step", async () => {
    shutdown.push(async () => shutdown.signal.throwIfAborted(), "a step");
    expect(shutdown.signal.aborted).toBe(false);
    await expect(run()).rejects.toEqual(stopping);
  });

  it("aborts when a stop is requested, and the steps wait for the run", async () => {
    const request = new AbortController();
    const step = vi.fn(done);
    shutdown = new Shutdown(() => {}, request.signal);
    shutdown.push(step, "a step");
    request.abort();
    expect(shutdown.signal.reason).toEqual(stopping);
    expect(step).not.toHaveBeenCalled();
    await run();
    expect(step).toHaveBeenCalledTimes(1);
    expect(new Shutdown(() => {}, request.signal).signal.aborted).toBe(true);
  });
});
