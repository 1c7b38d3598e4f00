import { expect, it } from "vitest";
import { Semaphore } from "../../../src/store/database/semaphore.ts";

const never = new AbortController().signal;
const soon = () => performance.now() + 20_000;

it("a semaphore of 2 runs two tasks at a time, in the order of arrival", async () => {
  const semaphore = new Semaphore(2, "Too many run.");
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const runs = ends.map(({ promise }, i) =>
    semaphore.run(never, soon(), async () => {
      begun.push(i);
      await promise;
      if (i === 1) throw new Error("failed");
    }),
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
  const semaphore = new Semaphore(1, "Too many run.");
  const first = Promise.withResolvers<void>();
  const running = semaphore.run(never, soon(), () => first.promise);
  const leaving = new AbortController();
  const left = semaphore.run(leaving.signal, soon(), async () => "left");
  const late = semaphore.run(never, performance.now() + 10, async () => "late");
  const last = semaphore.run(never, Number.POSITIVE_INFINITY, async () => "last");
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  await expect(late).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  first.resolve();
  await running;
  expect(await last).toBe("last");
  expect(await semaphore.run(never, soon(), async () => "again")).toBe("again");
});
