// Sizes of the tree at the ends of tiles, with one, two and three levels.
import { expect, it } from "vitest";
import { startLogReplica } from "../support/log.ts";
import { runUntil, SequencedLog } from "./sequenced-log.ts";

it("grows through every size around the end of a tile, and past 256 × 256", async () => {
  const log = await SequencedLog.begin();
  const { run } = await startLogReplica(log.db.config, log.key);
  await log.write(1);
  await runUntil(run, log.isPublished);
  for (const steps of [250, 1, 1, 1, 1, 1, 1, 256, 256 * 256 - 512, 1]) {
    const { size } = await log.head();
    await log.write(steps);
    await run();
    expect(await log.head()).toEqual({ size: size + steps, signed: size + steps });
  }
  expect((await log.head()).size).toBe(65_539);
  expect(await log.faults()).toEqual([]);
});
