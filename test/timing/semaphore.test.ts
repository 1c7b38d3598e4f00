import { expect, it } from "vitest";
import { Semaphore } from "../../src/timing/semaphore.ts";

const never = new AbortController().signal;
const soon = () => performance.now() + 20_000;
const busyMessage = "Too many run.";

it("a semaphore of 2 runs two tasks at a time, in the order of arrival", async () => {
  const semaphore = new Semaphore({ limit: 2, busyMessage });
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const runs = ends.map(({ promise }, i) =>
    semaphore.run(
      never,
      async () => {
        begun.push(i);
        await promise;
        if (i === 1) throw new Error("failed");
      },
      soon(),
    ),
  );
  const outcomes = Promise.allSettled(runs);
  expect(begun).toEqual([0, 1]);
  for (const [i, end] of ends.entries()) {
    end.resolve();
    await runs[i]?.catch(() => {});
  }
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  expect((await outcomes).map(({ status }) => status === "fulfilled")).toEqual([true, false, true, true, true]);
});

it("a semaphore drops tasks that are aborted or wait too long, and continues with the next", async () => {
  const semaphore = new Semaphore({ limit: 1, busyMessage });
  const first = Promise.withResolvers<void>();
  const running = semaphore.run(never, () => first.promise, soon());
  const leaving = new AbortController();
  const left = semaphore.run(leaving.signal, async () => "left", soon());
  const late = semaphore.run(never, async () => "late", performance.now() + 10);
  const last = semaphore.run(never, async () => "last");
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  await expect(late).rejects.toMatchObject({ code: "unavailable", message: busyMessage, retryAfterSeconds: 1 });
  first.resolve();
  await running;
  expect(await last).toBe("last");
  expect(await semaphore.run(never, async () => "again", soon())).toBe("again");
});

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
  const semaphore = new Semaphore({ limit: 2, maxWaiting: 10, busyMessage });
  const all = Array.from({ length: 4 }, work);
  const runs = all.map(({ run }) => semaphore.run(never, run));
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
  for (const { run } of next) void semaphore.run(never, run);
  expect(next.map(({ state }) => state.hasBegun)).toEqual([true, true, false]);
});

it("a full queue refuses tasks, and an aborted task makes room", async () => {
  const semaphore = new Semaphore({ limit: 1, maxWaiting: 1, busyMessage });
  const first = work();
  const running = semaphore.run(never, first.run);
  const leaving = new AbortController();
  const second = work();
  const waiting = semaphore.run(leaving.signal, second.run);
  const refused = semaphore.run(never, work().run);
  await expect(refused).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  leaving.abort(new Error("gone"));
  await expect(waiting).rejects.toThrow("gone");
  const third = work();
  const last = semaphore.run(never, third.run);
  first.state.end();
  third.state.end();
  await Promise.all([running, last]);
  expect(second.state.hasBegun).toBe(false);
  expect(third.state.hasBegun).toBe(true);
});
