// Where one file of 65,536 entries ends and the next one begins: interruptions, the copy of a new replica, and what fsck finds.
import { createHash } from "node:crypto";
import { appendFileSync, readdirSync, readFileSync, rmSync, statSync, truncateSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { LogFolder } from "../../src/log/folder/log-folder.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { fsckCopy, GrownLog, replaceIn } from "./grown-log.ts";
import { interrupt, watchSteps } from "./steps.ts";
import { GrowingLog, key, never } from "./support.ts";

const [before, after] = [65_534, 65_538];
const grown = await GrownLog.of(before);
/** The folder of a replica that has published everything: two files. */
const whole = grown.copy();
await grown.goOn(whole);
const published = await grown.log.head();

/** A hash of all that a folder has. */
function contentOf(path: string): string {
  const content = createHash("sha256");
  for (const name of readdirSync(path, { recursive: true, encoding: "utf8" }).sort()) {
    content.update(`${name}\0`);
    if (statSync(join(path, name)).isFile()) content.update(readFileSync(join(path, name)));
  }
  return content.digest("hex");
}

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

it("a new replica whose copy of the log is interrupted at any step begins it again, from the newest file on", async () => {
  const keyless = { signer: undefined };
  const start = async (path: string) => {
    await grown.note({ signed: 0, note: null });
    const publisher = await grown.log.publisher(path, keyless);
    await grown.note(published);
    return publisher;
  };
  const names = await grown.interruptEach(start, [0, after], 65_536, keyless);
  expect(names).toEqual(["appendFile", "rename", "sync", "truncate", "write"]);
  // It knows what comes before from the tiles of the database, of three levels, which must lead to the root.
  const path = scratchFolder();
  await grown.goOn(path, keyless);
  expect(readdirSync(join(path, "entries")).sort()).toEqual(["000001", "000001.range"]);
});

/** A database that has none of these entries: fsck then reads the folder alone. */
const other = await GrowingLog.begin();
/** What fsck finds in the files of a copy. */
async function found(change?: (folder: string) => void): Promise<string[]> {
  const { out } = await fsckCopy(other, whole, change);
  expect(out.at(-1)).toMatch(`log_folder.checkpoint: it has ${after} entries, and the database has 1`);
  return out.slice(0, -1);
}

it("fsck finds nothing in two good files, nor if the old one was deleted, and while the replica appends", async () => {
  expect(await found()).toEqual([]);
  const beyond = (folder: string) => {
    for (const name of ["000000", "000000.range"]) rmSync(join(folder, "entries", name));
    appendFileSync(join(folder, "entries", "000001"), "an entry that no checkpoint covers yet");
  };
  expect(await found(beyond)).toEqual([]);
});

it("fsck finds changed entries, in older files too", async () => {
  const change = (folder: string) => {
    replaceIn(join(folder, "entries/000000"), '"n":5,', '"n":6,');
    replaceIn(join(folder, "entries/000001"), '"n":65537', '"n":65538');
  };
  expect(await found(change)).toEqual([
    "log_folder.entries file 0: it does not lead to the range of the next file",
    "log_folder.entries file 1: it does not lead to the root of the checkpoint",
  ]);
});

it("fsck finds files that were cut off or are missing", async () => {
  const change = (folder: string) => {
    truncateSync(join(folder, "entries/000000"), 5000);
    rmSync(join(folder, "entries/000001.range"));
  };
  expect(await found(change)).toEqual([
    "log_folder.entries file 0: it was cut off",
    expect.stringMatching(/^log_folder.entries file 1: ENOENT: .*000001\.range'$/),
  ]);
});
