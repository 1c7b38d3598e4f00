import { expect, it } from "vitest";
import { Semaphore } from "../../src/site/semaphore.ts";

const signal = new AbortController().signal;

/** Work that goes on until it is told to end. */
function work() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const state = { hasBegun: false, end: resolve, fail: reject };
  const run = () => {
    state.hasBegun = true;
    return promise;
  };
  return { state, run };
}

it("work waits in line for a place, and a failure gives its place back", async () => {
  const places = new Semaphore(2, 10);
  const all = Array.from({ length: 4 }, work);
  const runs = all.map(({ run }) => places.run(signal, run));
  const begun = () => all.map(({ state }) => state.hasBegun);
  expect(begun()).toEqual([true, true, false, false]);
  all[1]?.state.fail(new Error("no"));
  await expect(runs[1]).rejects.toThrow("no");
  expect(begun()).toEqual([true, true, true, false]);
  for (const { state } of all) state.end();
  await Promise.allSettled(runs);
  expect(begun()).toEqual([true, true, true, true]);
  // Both places are free again.
  const next = Array.from({ length: 3 }, work);
  for (const { run } of next) void places.run(signal, run);
  expect(next.map(({ state }) => state.hasBegun)).toEqual([true, true, false]);
});

it("a line that is too long is not joined, and whoever leaves it makes room", async () => {
  const places = new Semaphore(1, 1);
  const first = work();
  const running = places.run(signal, first.run);
  const leaving = new AbortController();
  const second = work();
  const waiting = places.run(leaving.signal, second.run);
  const refused = places.run(signal, work().run);
  await expect(refused).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  leaving.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  const third = work();
  const last = places.run(signal, third.run);
  first.state.end();
  third.state.end();
  await Promise.all([running, last]);
  expect(second.state.hasBegun).toBe(false);
  expect(third.state.hasBegun).toBe(true);
});
