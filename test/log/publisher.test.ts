import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Publisher } from "../../src/log/publisher/publisher.ts";
import { openCheckpoint } from "../../src/tlog/notes/checkpoint.ts";
import { waitUntil } from "../support/wait.ts";
import { verifyEd25519 } from "../tlog/node-functions.ts";
import { GrowingLog, key, never, receiptEntry, temporaryFolder } from "./support.ts";

const read = (path: string, name: string) => readFileSync(join(path, name));
const noteOf = ({ tree }: Publisher) => Buffer.from(tree?.note ?? []).toString();
const opened = async (note: Uint8Array) => (await openCheckpoint(note, [key], verifyEd25519)).checkpoint;

it("a tree is signed, stored in the folder and in the database, and goes on after a start", async () => {
  const log = await GrowingLog.begin();
  const path = temporaryFolder();
  const publisher = await log.publisher(path);
  await publisher.publish(never);
  expect(publisher.tree?.size).toBe(1);
  for (const count of [1, 300, 1024]) await publisher.publish(never, await log.grow(count));
  const { size, root, signed, note } = await log.head();
  expect({ size, signed }).toEqual({ size: 1326, signed: 1326 });
  expect(read(path, "checkpoint").toString()).toBe(note);
  expect(await opened(Buffer.from(note as string))).toMatchObject({
    origin: "stoa.example/log",
    size,
    root: Uint8Array.from(root),
  });
  await publisher.stop();
  const again = await log.publisher(path);
  expect([again.tree?.size, again.obstacle]).toEqual([1326, undefined]);
  await log.grow(3);
  await again.publish(never);
  expect((await log.head()).signed).toBe(1329);
});

it("a replica without the key serves a note once its folder has the entries, and signs nothing", async () => {
  const log = await GrowingLog.begin();
  const signing = await log.publisher(temporaryFolder());
  await signing.publish(never, await log.grow(500));
  const path = temporaryFolder();
  const following = await log.publisher(path, { signer: undefined });
  expect(noteOf(following)).toBe(noteOf(signing));
  await log.grow(10);
  await following.publish(never);
  expect([following.tree?.size, (await log.head()).signed]).toEqual([501, 501]);
  await signing.publish(never);
  await following.publish(never);
  expect(read(path, "checkpoint")).toEqual(Buffer.from(signing.tree?.note as Uint8Array));
});

it("a new replica copies from the file of the newest entry on, and has the same tree", async () => {
  const log = await GrowingLog.begin();
  const path = temporaryFolder();
  const signing = await log.publisher(path);
  await signing.publish(never);
  while ((await log.head()).size < 65_536 + 4096) await log.grow(8192);
  await signing.publish(never);
  const other = temporaryFolder();
  const following = await log.publisher(other, { signer: undefined });
  expect(noteOf(following)).toBe(noteOf(signing));
  expect(readdirSync(join(path, "entries")).sort()).toEqual(["000000", "000000.range", "000001", "000001.range"]);
  expect(readdirSync(join(other, "entries")).sort()).toEqual(["000001", "000001.range"]);
  expect(read(other, "entries/000001")).toEqual(read(path, "entries/000001"));
  await following.stop();
  expect((await log.publisher(other)).obstacle).toBeUndefined();
});

it("a replica that has missed much starts with its own note, and copies the rest meanwhile", async () => {
  const log = await GrowingLog.begin();
  const signing = await log.publisher(temporaryFolder());
  await signing.publish(never);
  const path = temporaryFolder();
  const before = await log.publisher(path, { signer: undefined });
  await before.stop();
  await log.grow(8_192);
  await log.grow(1);
  await signing.publish(never);
  const blocking = await log.test.pool.getConnection();
  await blocking.query("LOCK TABLES log_entries WRITE");
  const again = await log.publisher(path, { signer: undefined, lookMs: 100 });
  expect([again.tree?.size, again.warning]).toEqual([1, undefined]);
  await blocking.query("UNLOCK TABLES");
  blocking.release();
  await waitUntil("the newest note", () => noteOf(again) === noteOf(signing));
});

it("a note that did not reach the database is stored there by the next look", async () => {
  const log = await GrowingLog.begin();
  const publisher = await log.publisher(temporaryFolder());
  await publisher.publish(never);
  const before = await log.head();
  await publisher.publish(never, await log.grow(5));
  const after = await log.head();
  await log.test.rows("UPDATE log_head SET signed = ?, note = ?", [before.signed, before.note]);
  await log.grow(2);
  await publisher.publish(never);
  expect((await log.head()).signed).toBe(after.size + 2);
});

it("the writes of a batch stand in the folder before the note does", async () => {
  const log = await GrowingLog.begin();
  const path = temporaryFolder();
  const publisher = await log.publisher(path);
  await publisher.publish(never);
  const batch = await log.grow(4);
  // The checkpoint cannot be replaced: a folder is in its place.
  rmSync(join(path, "checkpoint"));
  mkdirSync(join(path, "checkpoint"));
  await expect(publisher.publish(never, batch)).rejects.toThrow(/EISDIR|ENOTEMPTY|directory/);
  expect([publisher.tree?.size, (await log.head()).signed]).toEqual([1, 1]);
  expect(read(path, "entries/000000").includes(Buffer.from(receiptEntry(4)))).toBe(true);
  rmSync(join(path, "checkpoint"), { recursive: true });
  await publisher.publish(never);
  expect((await log.head()).signed).toBe(5);
});
