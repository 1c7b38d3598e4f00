// Every step of publishing is interrupted. The folder then has a whole tree, and the next call or start goes on from it.
import { cpSync } from "node:fs";
import { expect, it } from "vitest";
import { scratchFolder } from "../support/scratch-folder.ts";
import { GrownLog } from "./grown-log.ts";
import { watchSteps } from "./steps.ts";
import { GrowingLog, never } from "./support.ts";

it("an interrupted step is done again by the next call, in the same process and after a start", async () => {
  const grown = await GrownLog.of(9);
  const start = async (path: string) => {
    cpSync(grown.path, path, { recursive: true });
    await grown.note();
    return grown.log.publisher(path);
  };
  const names = await grown.interruptEach(start, [9, 13], 0);
  expect(names).toEqual(["appendFile", "rename", "sync", "transaction", "truncate", "write"]);
});

it("the entries are on the disk before the checkpoint is, and that is before the note stands in the database", async () => {
  const log = await GrowingLog.begin();
  const publisher = await log.publisher(scratchFolder());
  await publisher.publish(never);
  const batch = await log.grow(3);
  const names: string[] = [];
  const end = await watchSteps((name) => {
    names.push(name);
    return undefined;
  });
  await publisher.publish(never, batch);
  end();
  // The entries; the checkpoint aside, its rename and the folder; the note.
  const entries = ["truncate", "write", "sync"];
  const checkpoint = ["appendFile", "sync", "rename", "sync"];
  expect(names).toEqual([...entries, ...checkpoint, "transaction"]);
});
