// A replica that is killed while it copies a log that it does not have.
import { expect, it } from "vitest";
import { grownLog, publishAndDie, treeIn } from "./interruption.ts";
import { expectToGoOn } from "./kills.ts";
import { never, temporaryFolder } from "./support.ts";

it("after a kill at any step of its first copy, a new replica copies the log from the newest file on", async () => {
  const { log, path, after } = await grownLog(65_536);
  const signer = await log.publisher(path);
  await signer.publish(never);
  await signer.stop();
  const found = new Set<number>();
  for (let step = 1; ; step++) {
    const copy = temporaryFolder();
    const steps = publishAndDie(log, copy, step);
    found.add(await treeIn(copy, log, [0, after], 65_536));
    await expectToGoOn(log, copy, after);
    if (steps !== undefined) break;
  }
  expect(found).toEqual(new Set([0, after]));
});
