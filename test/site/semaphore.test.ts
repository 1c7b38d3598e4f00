import { expect, it } from "vitest";
import { Semaphore } from "../../src/site/semaphore.ts";

const signal = new AbortController().signal;

/** A task that runs until the test ends it. */
function work() {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const state = { hasBegun: false, end: resolve, fail: reject };
  const run = () => {
    state.hasBegun = true;
    return promise;
  };
  return { state, run };
}

it("tasks wait until another task ends, even if that one fails", async () => {
  const semaphore = new Semaphore(2, 10);
  const all = Array.from({ length: 4 }, work);
  const runs = all.map(({ run }) => semaphore.run(signal, run));
  const begun = () => all.map(({ state }) => state.hasBegun);
  expect(begun()).toEqual([true, true, false, false]);
  all[1]?.state.fail(new Error("no"));
  await expect(runs[1]).rejects.toThrow("no");
  expect(begun()).toEqual([true, true, true, false]);
  for (const { state } of all) state.end();
  await Promise.allSettled(runs);
  expect(begun()).toEqual([true, true, true, true]);
  // There is room for two tasks again.
  const next = Array.from({ length: 3 }, work);
  for (const { run } of next) void semaphore.run(signal, run);
  expect(next.map(({ state }) => state.hasBegun)).toEqual([true, true, false]);
});

it("a full queue refuses tasks, and an aborted task makes room", async () => {
  const semaphore = new Semaphore(1, 1);
  const first = work();
  const running = semaphore.run(signal, first.run);
  const leaving = new AbortController();
  const second = work();
  const waiting = semaphore.run(leaving.signal, second.run);
  const refused = semaphore.run(signal, work().run);
  await expect(refused).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  leaving.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  const third = work();
  const last = semaphore.run(signal, third.run);
  first.state.end();
  third.state.end();
  await Promise.all([running, last]);
  expect(second.state.hasBegun).toBe(false);
  expect(third.state.hasBegun).toBe(true);
});
