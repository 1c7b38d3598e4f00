import { expect, it } from "vitest";
import { Turns } from "../../../src/store/database/semaphore.ts";

const never = new AbortController().signal;
const soon = () => performance.now() + 20_000;

it("lets so many run at a time, the others in the order in which they came", async () => {
  const turns = new Turns(2);
  const begun: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const runs = ends.map(({ promise }, i) =>
    turns.run(never, soon(), async () => {
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

it("forgets who leaves or has waited too long, and goes on with the next", async () => {
  const turns = new Turns(1);
  const first = Promise.withResolvers<void>();
  const running = turns.run(never, soon(), () => first.promise);
  const leaving = new AbortController();
  const left = turns.run(leaving.signal, soon(), async () => "left");
  const late = turns.run(never, performance.now() + 10, async () => "late");
  const last = turns.run(never, Number.POSITIVE_INFINITY, async () => "last");
  leaving.abort(new Error("gone"));
  await expect(left).rejects.toThrow("gone");
  await expect(late).rejects.toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
  first.resolve();
  await running;
  expect(await last).toBe("last");
  expect(await turns.run(never, soon(), async () => "again")).toBe("again");
});
