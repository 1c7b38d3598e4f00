// A replica that is killed while its start drops what is beyond the checkpoint.
import { cpSync } from "node:fs";
import { expect, it } from "vitest";
import { asBefore, extendUnsigned, grownLog, publishAndDie, treeIn } from "./interruption.ts";
import { expectToGoOn } from "./kills.ts";
import type { At } from "./steps.ts";
import { temporaryFolder } from "./support.ts";

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
