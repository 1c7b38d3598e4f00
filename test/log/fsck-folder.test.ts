// What fsck finds in the log folder of a replica. It finds entries by their files: file-ends.test.ts has two of them.
import { readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { formatCheckpoint } from "../../src/tlog/notes/checkpoint.ts";
import { signNote } from "../../src/tlog/notes/note.ts";
import { signerOf, testKey } from "../tlog/node-functions.ts";
import { fsckCopy, GrownLog, replaceIn } from "./grown-log.ts";
import { GrowingLog, laterEntry } from "./support.ts";

const { log, path } = await GrownLog.of(20);

/** What is found with a copy of the folder. */
const found = async (change?: (folder: string) => void, of = log) => (await fsckCopy(of, path, change)).out;

it("nothing, if the folder is good, was begun, or is not there", async () => {
  expect(await found()).toEqual([]);
  // A new replica copies entries before it has a checkpoint.
  const begin = (folder: string) => writeFileSync(join(folder, "checkpoint"), "no checkpoint yet\n");
  expect(await found(begin)).toEqual([]);
  const beginAsBefore = (folder: string) => {
    rmSync(join(folder, "entries"), { recursive: true });
    writeFileSync(join(folder, "checkpoint"), "");
  };
  expect(await found(beginAsBefore)).toEqual([]);
  expect(await found((folder) => rmSync(folder, { recursive: true }))).toEqual([]);
});

it("a checkpoint that was changed, is missing or is empty", async () => {
  const subject = "log_folder.checkpoint";
  const change = (folder: string) => replaceIn(join(folder, "checkpoint"), "\n20\n", "\n21\n");
  expect(await found(change)).toEqual([`${subject}: a signature of the key is not good`]);
  for (const lose of [rmSync, truncateSync]) {
    const missing = await found((folder) => lose(join(folder, "checkpoint")));
    expect(missing).toEqual([`${subject}: it is missing or empty`]);
  }
});

it("a checkpoint of which a part names another log or key", async () => {
  const named = "log_folder.checkpoint: a part of it names another log or key";
  const note = readFileSync(join(path, "checkpoint"), "latin1");
  const [name = ""] = /(?<= )\S+(?= \S+\n$)/.exec(note) ?? [];
  const [id = ""] = /(?<= )\S(?=\S*\n$)/.exec(note) ?? [];
  for (const [from, to] of [
    [`${name}\n`, `${name.replace("s", "t")}\n`],
    [` ${name} `, ` ${name.replace("s", "t")} `],
    [` ${name} ${id}`, ` ${name} ${id === "A" ? "B" : "A"}`],
  ] as const) {
    expect(await found((folder) => replaceIn(join(folder, "checkpoint"), from, to))).toEqual([named]);
  }
});

it("a database that has another tree than the published one, or lacks it", async () => {
  const other = await GrowingLog.begin();
  const lacking = "log_folder.checkpoint: it has 20 entries, and the database has 1: see recover --log";
  expect(await found(undefined, other)).toEqual([lacking]);
  await other.grow(19, (n) => laterEntry(n + 1));
  const differs = "log_folder.checkpoint: the database's log does not begin with its tree";
  expect(await found(undefined, other)).toEqual([differs]);
});

it("nothing in the folder of another log, which is not checked", async () => {
  const isLeftOut = expect.stringMatching(/\/log is the folder of another log, and is not checked$/);
  for (const other of [await testKey("other.example/log"), await testKey("stoa.example/log", 8)]) {
    const text = formatCheckpoint({ origin: other.name, size: 20, root: new Uint8Array(32) });
    const note = await signNote(text, [signerOf(other)]);
    const { out, notes } = await fsckCopy(log, path, (folder) => writeFileSync(join(folder, "checkpoint"), note));
    expect([out, notes]).toEqual([[], expect.arrayContaining([isLeftOut])]);
  }
});
