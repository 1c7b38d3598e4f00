// A publisher that is killed at the steps that test/log/killed.test.ts leaves out.
import { expect, it } from "vitest";
import { killAtEverySecond, whole } from "./kills.ts";

it("after a kill at any even step, the folder has a whole tree, and the next start goes on from it", async () => {
  expect(await killAtEverySecond(2)).toEqual(whole);
});
