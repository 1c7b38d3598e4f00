// A publisher that is killed at each of its steps.
import { cpSync } from "node:fs";
import { expect, it } from "vitest";
import { asBefore, grownLog, publishAndDie, treeIn } from "./interruption.ts";
import { never, temporaryFolder } from "./support.ts";

it("after a kill at any step, the folder has a whole tree, and the next start goes on from it", async () => {
  // Over the end of a file.
  const before = 65_534;
  const { log, path, after } = await grownLog(before);
  const { signed, note } = await log.head();
  expect(signed).toBe(before);
  const found = new Set<string>();
  // What is killed after a step is killed before the next one.
  for (let step = 1; ; step++) {
    const copy = temporaryFolder();
    cpSync(path, copy, { recursive: true });
    await asBefore(log.test, signed, note);
    const steps = publishAndDie(log, copy, step);
    const size = await treeIn(copy, log, [before, after]);
    const inDatabase = (await log.head()).signed;
    found.add(`${size} ${inDatabase}`);
    // The database never has a note that the folder of its signer lacks.
    expect(inDatabase).toBeLessThanOrEqual(size);
    const next = await log.publisher(copy);
    await next.publish(never);
    expect([next.obstacle, next.tree?.size, (await log.head()).signed]).toEqual([undefined, after, after]);
    await next.stop();
    if (steps !== undefined) {
      expect(steps).toBe(step - 1);
      break;
    }
  }
  expect([...found].sort()).toEqual([`${before} ${before}`, `${after} ${before}`, `${after} ${after}`].sort());
});
