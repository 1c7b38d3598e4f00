// Steps of publishing are interrupted where one file of entries ends and the next one begins.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { GrownLog } from "./grown-log.ts";
import { interrupt, watchSteps } from "./steps.ts";
import { key, never } from "./support.ts";

describe("over the end of a file of 65,536 entries", () => {
  const [before, after] = [65_534, 65_538];
  let grown: GrownLog;
  beforeAll(async () => {
    grown = await GrownLog.of(before);
  });

  it("a publisher that is killed at any step has the tree before or the one after", async () => {
    await grown.note();
    const path = grown.copy();
    const publisher = await grown.log.publisher(path);
    // What the folder has before a step is what a kill leaves there. The note of the database is the last step.
    const copies: string[] = [];
    let last = "";
    const end = await watchSteps((name) => {
      // Only a power cut makes a difference to what was not yet synchronized.
      if (last !== "sync") copies.push(grown.copy(path));
      last = name;
      return undefined;
    });
    await publisher.publish(never);
    end();
    await publisher.stop();
    const sizes: number[] = [];
    for (const copy of copies) {
      await grown.note();
      sizes.push(await grown.goOn(copy));
    }
    expect([...new Set(sizes)]).toEqual([before, after]);
    await grown.expectEntries(path, before - 2, after);
  });

  it("a start that fails while it drops entries beyond the checkpoint leaves the rest to the next one", async () => {
    // As a publisher leaves it that is killed before it signs.
    const path = grown.copy();
    const folder = await LogFolder.open(path, key);
    const extension = folder.extend();
    const rows = await grown.log.test.rows<{ entry: string }>(
      "SELECT entry FROM log_entries WHERE idx >= ? ORDER BY idx",
      [before],
    );
    await extension.append(rows.map(({ entry }) => Buffer.from(entry)));
    await extension.sync();
    folder.close();
    const names = new Set<string>();
    for (let step = 1, isOver = false; !isOver; step++) {
      const copy = grown.copy(path);
      const end = await interrupt("before", step, names);
      const opened = await LogFolder.open(copy, key).catch((error: Error) => error);
      isOver = end() < step;
      expect(opened instanceof LogFolder).toBe(isOver);
      const next = opened instanceof LogFolder ? opened : await LogFolder.open(copy, key);
      expect(next.tree?.size).toBe(before);
      next.close();
      expect(readdirSync(join(copy, "entries")).sort()).toEqual(["000000", "000000.range"]);
    }
    expect([...names].sort()).toEqual(["rm", "truncate"]);
  });

  it("a new replica whose copy of the log is interrupted at any step begins it again, from the newest file on", async () => {
    await grown.note();
    await grown.goOn(grown.copy());
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
});
