// Every size of the tree while it is small, and one with a third level of tiles.
import { expect, it } from "vitest";
import { startLogReplica } from "../support/log.ts";
import { runUntil, SequencedLog } from "./sequenced-log.ts";

it("grows through every size to 300, and past 256 × 256", async () => {
  const log = await SequencedLog.begin();
  const { run } = await startLogReplica(log.db.config, log.key);
  await log.write(1);
  await runUntil(run, log.isPublished);
  for (let size = 3; size <= 300; size++) {
    await log.write(1);
    await run();
    expect(await log.head()).toEqual({ size, signed: size });
  }
  expect(await log.faults()).toEqual([]);
  await log.write(256 * 256 - 298);
  await run();
  expect(await log.head()).toEqual({ size: 65_538, signed: 65_538 });
  expect(await log.faults()).toEqual([]);
});
