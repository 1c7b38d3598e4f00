import { expect, it } from "vitest";
import { parties } from "../../src/timing/parties.ts";
import { Semaphore } from "../../src/timing/semaphore.ts";

const never = new AbortController().signal;
const soon = () => performance.now() + 20_000;
const busyMessage = "Too many run.";

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

it("parties take turns, and where no more may wait, the one with the most gives a place away", async () => {
  const semaphore = new Semaphore({ limit: 1, maxWaiting: 4, busyMessage });
  const first = work();
  const running = semaphore.run(never, first.run);
  const order: string[] = [];
  const tasks = [..."aaaaabbbc"].map((party, n) => {
    const { signal } = new AbortController();
    parties.set(signal, party);
    const task = `${party}${n}`;
    return semaphore.run(signal, async () => void order.push(task)).catch(() => void order.push(`no ${task}`));
  });
  first.state.end();
  await Promise.all([running, ...tasks]);
  expect(order.filter((each) => each.startsWith("no")).toSorted()).toEqual([
    "no a1",
    "no a2",
    "no a3",
    "no a4",
    "no b7",
  ]);
  expect(order.filter((each) => !each.startsWith("no"))).toEqual(["a0", "b5", "c8", "b6"]);
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
