// Steps of publishing are interrupted where one file of entries ends and the next one begins.
import { createHash } from "node:crypto";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import { GrownLog } from "./grown-log.ts";
import { interrupt, watchSteps } from "./steps.ts";
import { key, never } from "./support.ts";

/** A hash of all that a folder has. */
function contentOf(path: string): string {
  const content = createHash("sha256");
  for (const name of readdirSync(path, { recursive: true, encoding: "utf8" }).sort()) {
    content.update(`${name}\0`);
    if (statSync(join(path, name)).isFile()) content.update(readFileSync(join(path, name)));
  }
  return content.digest("hex");
}

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
    const copies = new Map<string, string>();
    const end = await watchSteps(() => {
      // A step that has only synchronized makes a difference only to a power cut.
      const content = contentOf(path);
      if (!copies.has(content)) copies.set(content, grown.copy(path));
      return undefined;
    });
    await publisher.publish(never);
    end();
    await publisher.stop();
    const sizes: number[] = [];
    for (const copy of copies.values()) {
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
});
