import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { StoaError } from "../../src/errors.ts";
import { Readiness } from "../../src/grpc-services/readiness.ts";

const quiet = { info() {}, warn() {} };
const never = new AbortController().signal;
const away = new StoaError("unavailable", "away");
/** By default Vitest waits for a second, which is too short on a busy machine. */
const patience = { timeout: 50_000 };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Collects what one watcher receives and how it ends. */
function follow(readiness: Readiness, signal = never) {
  const received: (boolean | string)[] = [];
  const ended = (async () => {
    try {
      for await (const serving of readiness.watch(signal)) received.push(serving);
    } catch (error) {
      received.push(error instanceof StoaError ? error.code : String(error));
    }
  })();
  return { received, ended };
}

/** A readiness whose check fails while `database.serving` is false. */
function switchable() {
  const database = { serving: true };
  const checkReady = async () => {
    if (!database.serving) throw away;
    return undefined;
  };
  return { readiness: new Readiness(checkReady, quiet, never), database };
}

describe("readiness", () => {
  it("runs one check for all concurrent callers", async () => {
    const look = Promise.withResolvers<string | undefined>();
    const checkReady = vi.fn(() => look.promise);
    const readiness = new Readiness(checkReady, quiet, never);
    const asked = [readiness.check(), readiness.check(), readiness.isServing()];
    look.resolve("a warning");
    expect(await Promise.all(asked)).toEqual(["a warning", "a warning", true]);
    expect(checkReady).toHaveBeenCalledTimes(1);
    await readiness.check();
    expect(checkReady).toHaveBeenCalledTimes(2);
  });

  it("runs one check for all watchers, and none after the last has left", async () => {
    const checkReady = vi.fn(async () => undefined);
    const readiness = new Readiness(checkReady, quiet, never);
    const leave = new AbortController();
    const watchers = Array.from({ length: 100 }, () => follow(readiness, leave.signal));
    await vi.advanceTimersByTimeAsync(0);
    await vi.waitUntil(() => watchers.every(({ received }) => received.length === 1), patience);
    await vi.advanceTimersByTimeAsync(10_000);
    const looks = checkReady.mock.calls.length;
    expect(looks).toBeGreaterThan(5);
    expect(looks).toBeLessThan(25);
    expect(watchers.every(({ received }) => received.length === 1 && received[0] === true)).toBe(true);
    leave.abort("gone");
    await Promise.all(watchers.map(({ ended }) => ended));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(checkReady).toHaveBeenCalledTimes(looks);
  });

  it("starts a new watch when a watcher comes just as the last one leaves", async () => {
    const { readiness, database } = switchable();
    const leave = new AbortController();
    const first = follow(readiness, leave.signal);
    await vi.advanceTimersByTimeAsync(100);
    leave.abort("gone");
    await first.ended;
    database.serving = false;
    const second = follow(readiness);
    await vi.advanceTimersByTimeAsync(0);
    expect(second.received).toEqual([false]);
    database.serving = true;
    await vi.advanceTimersByTimeAsync(1_000);
    // Watchers are told of changes in turns of the real event loop.
    await vi.waitUntil(() => second.received.length === 2, patience);
    expect(second.received).toEqual([false, true]);
  });

  it("fails when a check takes too long, and later checks do not wait for it", async () => {
    const checkReady = vi
      .fn(async (): Promise<string | undefined> => undefined)
      .mockImplementationOnce(() => new Promise(() => {}));
    const readiness = new Readiness(checkReady, quiet, never);
    const refused = expect(readiness.check()).rejects.toMatchObject({ code: "unavailable" });
    await vi.advanceTimersByTimeAsync(5_000);
    await refused;
    expect(await readiness.isServing()).toBe(true);
  });

  it("tells everybody of a stop that is announced, and ends no watch before the stop", async () => {
    const [shutdown, announced] = [new AbortController(), new AbortController()];
    const stopping = new StoaError("unavailable", "The service is stopping.");
    const readiness = new Readiness(async () => undefined, quiet, shutdown.signal, announced.signal);
    const { received, ended } = follow(readiness);
    await vi.advanceTimersByTimeAsync(0);
    announced.abort(stopping);
    const late = follow(readiness);
    await vi.advanceTimersByTimeAsync(2_000);
    await vi.waitUntil(() => received.length === 2, patience);
    expect([received, late.received]).toEqual([[true, false], [false]]);
    await expect(readiness.check()).rejects.toBe(stopping);
    expect(await readiness.isServing()).toBe(false);
    shutdown.abort(stopping);
    await Promise.all([ended, late.ended]);
    expect(received).toEqual([true, false, "unavailable"]);
  });
});
