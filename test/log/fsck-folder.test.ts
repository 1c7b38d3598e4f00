// What fsck finds in the log folder of a replica.
import { appendFileSync, cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { formatCheckpoint } from "../../src/tlog/notes/checkpoint.ts";
import { signNote } from "../../src/tlog/notes/note.ts";
import { type Outcome, operateWith } from "../operator/support.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { signerOf, testKey } from "../tlog/node-functions.ts";
import { GrowingLog, never } from "./support.ts";

/** A log, and the data folder of a replica that has published it. That stays in use. */
interface Published {
  log: GrowingLog;
  dataDir: string;
}

/** An entry of a later version, which is compared with no row. */
const entryOf = (n: number) => Buffer.from(`{"n":${n},"ts":"2026-01-31T00:00:00.000Z","type":"later","v":1}`);

async function published(size: number): Promise<Published> {
  const log = await GrowingLog.begin();
  const dataDir = scratchFolder();
  const publisher = await log.publisher(join(dataDir, "log"));
  await publisher.publish(never);
  await publisher.publish(never, await log.grow(size - 1, entryOf));
  return { log, dataDir };
}

/** What is found with a copy of the folder. */
async function found(published: Published, change?: (folder: string) => void): Promise<string[]> {
  return (await run(published, change)).out;
}

async function run({ log, dataDir }: Published, change: (folder: string) => void = () => {}): Promise<Outcome> {
  const copy = scratchFolder();
  cpSync(dataDir, copy, { recursive: true });
  change(join(copy, "log"));
  const settings = { STOA_DATABASE_URL: urlOf(log.test.config), STOA_DATA_DIR: copy };
  const outcome = await operateWith(settings, ["fsck"]);
  expect(outcome.status).toBe(outcome.out.length > 0 ? 1 : 0);
  return outcome;
}

/** Changes a text in a file, once. */
const replace = (path: string, from: string, to: string) =>
  writeFileSync(path, readFileSync(path, "latin1").replace(from, to), "latin1");

const small = await published(20);
/** It has two files of entries. */
const large = await published(65_540);

it("nothing, if the folder is good, was begun, or is not there", async () => {
  expect(await found(large)).toEqual([]);
  // A new replica copies entries before it has a checkpoint.
  const begin = (folder: string) => writeFileSync(join(folder, "checkpoint"), "no checkpoint yet\n");
  expect(await found(small, begin)).toEqual([]);
  const beginAsBefore = (folder: string) => {
    rmSync(join(folder, "entries"), { recursive: true });
    writeFileSync(join(folder, "checkpoint"), "");
  };
  expect(await found(small, beginAsBefore)).toEqual([]);
  expect(await found(small, (folder) => rmSync(folder, { recursive: true }))).toEqual([]);
});

it("nothing, if old files were deleted, and while the replica appends", async () => {
  const beyond = (folder: string) => {
    for (const name of ["000000", "000000.range"]) rmSync(join(folder, "entries", name));
    appendFileSync(join(folder, "entries", "000001"), "an entry that no checkpoint covers yet");
  };
  expect(await found(large, beyond)).toEqual([]);
});

it("changed entries, in older files too", async () => {
  const change = (folder: string) => {
    replace(join(folder, "entries/000000"), '"n":5,', '"n":6,');
    replace(join(folder, "entries/000001"), '"n":65537', '"n":65538');
  };
  expect(await found(large, change)).toEqual([
    "log_folder.entries file 0: it does not lead to the range of the next file",
    "log_folder.entries file 1: it does not lead to the root of the checkpoint",
  ]);
});

it("files that were cut off or are missing", async () => {
  const change = (folder: string) => {
    truncateSync(join(folder, "entries/000000"), 5000);
    rmSync(join(folder, "entries/000001.range"));
  };
  expect(await found(large, change)).toEqual([
    "log_folder.entries file 0: it was cut off",
    expect.stringMatching(/^log_folder.entries file 1: ENOENT: .*000001\.range'$/),
  ]);
});

it("a checkpoint that was changed, is missing or is empty", async () => {
  const subject = "log_folder.checkpoint";
  const change = (folder: string) => replace(join(folder, "checkpoint"), "\n20\n", "\n21\n");
  expect(await found(small, change)).toEqual([`${subject}: a signature of the key is not good`]);
  for (const lose of [rmSync, truncateSync]) {
    const missing = await found(small, (folder) => lose(join(folder, "checkpoint")));
    expect(missing).toEqual([`${subject}: it is missing or empty`]);
  }
});

it("a checkpoint of which a part names another log or key", async () => {
  const named = "log_folder.checkpoint: a part of it names another log or key";
  const note = readFileSync(join(small.dataDir, "log/checkpoint"), "latin1");
  const [name = ""] = /(?<= )\S+(?= \S+\n$)/.exec(note) ?? [];
  const [id = ""] = /(?<= )\S(?=\S*\n$)/.exec(note) ?? [];
  for (const [from, to] of [
    [`${name}\n`, `${name.replace("s", "t")}\n`],
    [` ${name} `, ` ${name.replace("s", "t")} `],
    [` ${name} ${id}`, ` ${name} ${id === "A" ? "B" : "A"}`],
  ] as const) {
    expect(await found(small, (folder) => replace(join(folder, "checkpoint"), from, to))).toEqual([named]);
  }
});

it("a database that has another tree than the published one, or lacks it", async () => {
  const { dataDir } = small;
  const log = await GrowingLog.begin();
  await log.grow(19, (n) => entryOf(n + 1));
  const other = "log_folder.checkpoint: the database's log does not begin with its tree";
  expect(await found({ log, dataDir })).toEqual([other]);
  const lacking = "log_folder.checkpoint: it has 20 entries, and the database has 1: see recover --log";
  expect(await found({ log: await GrowingLog.begin(), dataDir })).toEqual([lacking]);
});

it("nothing in the folder of another log, which is not checked", async () => {
  const isLeftOut = expect.stringMatching(/\/log is the folder of another log, and is not checked$/);
  for (const other of [await testKey("other.example/log"), await testKey("stoa.example/log", 8)]) {
    const text = formatCheckpoint({ origin: other.name, size: 20, root: new Uint8Array(32) });
    const note = await signNote(text, [signerOf(other)]);
    const { out, notes } = await run(small, (folder) => writeFileSync(join(folder, "checkpoint"), note));
    expect([out, notes]).toEqual([[], expect.arrayContaining([isLeftOut])]);
  }
});
