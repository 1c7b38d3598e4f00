// A publisher that is killed at each second of its steps: test/log/killed-between.test.ts has the others.
import { expect, it } from "vitest";
import { killAtEverySecond, whole } from "./kills.ts";

it("after a kill at any odd step, the folder has a whole tree, and the next start goes on from it", async () => {
  expect(await killAtEverySecond(1)).toEqual(whole);
});
