// A replica that is killed while its start drops what is beyond the checkpoint, or copies a log that it does not have.
import { cpSync } from "node:fs";
import { expect, it } from "vitest";
import { asBefore, extendUnsigned, grownLog, publishAndDie, treeIn } from "./interruption.ts";
import type { At } from "./steps.ts";
import { type GrowingLog, never, temporaryFolder } from "./support.ts";

/** Checks that a start goes on from a folder, and has the whole log. */
async function expectToGoOn(log: GrowingLog, path: string, size: number): Promise<void> {
  const next = await log.publisher(path);
  await next.publish(never);
  expect([next.obstacle, next.tree?.size, (await log.head()).signed]).toEqual([undefined, size, size]);
  await next.stop();
}

it("after a kill while a start drops entries beyond the checkpoint, the next start drops the rest", async () => {
  const before = 65_534;
  const { log, path, after } = await grownLog(before);
  const { signed, note } = await log.head();
  await extendUnsigned(log, path);
  // A file of entries and its range are removed, and the file before them is cut.
  const kills: At[] = [["rm", 1], ["rm", 2], ["truncate", 1], ["truncate", 2]]; // biome-ignore format: one list
  for (const at of kills) {
    const copy = temporaryFolder();
    cpSync(path, copy, { recursive: true });
    await asBefore(log.test, signed, note);
    expect(publishAndDie(log, copy, at)).toBeUndefined();
    expect(await treeIn(copy, log, [before, before])).toBe(before);
    await expectToGoOn(log, copy, after);
  }
});

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
