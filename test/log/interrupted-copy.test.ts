// A new replica copies the log from the database, and is interrupted. It begins where the newest file of entries begins.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { scratchFolder } from "../support/scratch-folder.ts";
import { GrownLog } from "./grown-log.ts";
import { GrowingLog } from "./support.ts";

it("a new replica whose copy of the log is interrupted at any step begins it again, from the newest file on", async () => {
  const grown = new GrownLog(await GrowingLog.begin(), 65_534);
  const { after } = grown;
  await grown.log.grow(after - 1);
  await grown.goOn(grown.path);
  const signed = await grown.log.head();
  const keyless = { signer: undefined };
  const start = async (path: string) => {
    await grown.note({ signed: 0, note: null });
    const publisher = await grown.log.publisher(path, keyless);
    await grown.note(signed);
    return publisher;
  };
  const names = await grown.interruptEach(start, [0, after], 65_536, keyless);
  expect(names).toEqual(["appendFile", "rename", "sync", "truncate", "write"]);
  // It knows what comes before from the tiles of the database, of three levels, which must lead to the root.
  const path = scratchFolder();
  await grown.goOn(path, keyless);
  expect(readdirSync(join(path, "entries")).sort()).toEqual(["000001", "000001.range"]);
});
