import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Publisher } from "../../src/log/publisher/publisher.ts";
import { openCheckpoint } from "../../src/tlog/notes/checkpoint.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { waitUntil } from "../support/wait.ts";
import { verifyEd25519 } from "../tlog/node-functions.ts";
import { watchSteps } from "./steps.ts";
import { GrowingLog, key, never } from "./support.ts";

const checkpointIn = (path: string) => readFileSync(join(path, "checkpoint")).toString();
const noteOf = ({ tree }: Publisher) => Buffer.from(tree?.note ?? []).toString();

it("a replica without the key serves a note once its folder has the entries, and signs nothing", async () => {
  const log = await GrowingLog.begin();
  const signing = await log.publisher(scratchFolder());
  await signing.publish(never, await log.grow(500));
  const { size, root, signed, note } = await log.head();
  expect({ size, signed }).toEqual({ size: 501, signed: 501 });
  const { checkpoint } = await openCheckpoint(Buffer.from(note as string), [key], verifyEd25519);
  expect(checkpoint).toMatchObject({ origin: key.name, size, root: Uint8Array.from(root) });
  const path = scratchFolder();
  const following = await log.publisher(path, { signer: undefined });
  expect(noteOf(following)).toBe(noteOf(signing));
  await log.grow(10);
  await following.publish(never);
  expect([following.tree?.size, (await log.head()).signed]).toEqual([501, 501]);
  await signing.publish(never);
  await following.publish(never);
  expect(checkpointIn(path)).toBe(noteOf(signing));
});

it("a replica that has missed much starts with its own note, and copies the rest meanwhile", async () => {
  const log = await GrowingLog.begin();
  const signing = await log.publisher(scratchFolder());
  await signing.publish(never);
  const path = scratchFolder();
  const before = await log.publisher(path, { signer: undefined });
  await before.stop();
  await log.grow(8_193);
  await signing.publish(never);
  const blocking = await log.test.pool.getConnection();
  await blocking.query("LOCK TABLES log_entries WRITE");
  const again = await log.publisher(path, { signer: undefined, lookMs: 100 });
  expect([again.tree?.size, again.warning]).toEqual([1, undefined]);
  await blocking.query("UNLOCK TABLES");
  blocking.release();
  await waitUntil("the newest note", () => noteOf(again) === noteOf(signing));
});

it("a replica that has a note starts with it while the database fails or the disk is full, and goes on later", async () => {
  const log = await GrowingLog.begin();
  const path = scratchFolder();
  const first = await log.publisher(path);
  await first.publish(never, await log.grow(8));
  await first.stop();
  const failAt = (step: string) =>
    watchSteps((name) => {
      if (name === step) throw new Error("this step fails");
      return undefined;
    });
  // The folder is ahead of the database, and then behind it.
  await log.test.rows("UPDATE log_head SET signed = 0, note = NULL");
  const failing = await failAt("transaction");
  const ahead = await log.publisher(path);
  expect([ahead.tree?.size, ahead.warning, (await log.head()).signed]).toEqual([9, undefined, 0]);
  // From here on, each look of its own may mend it.
  failing();
  await ahead.publish(never);
  expect((await log.head()).signed).toBe(9);
  const copy = scratchFolder();
  cpSync(path, copy, { recursive: true });
  await ahead.publish(never, await log.grow(8));
  const full = await failAt("appendFile");
  const behind = await log.publisher(copy, { signer: undefined });
  expect([behind.tree?.size, behind.warning]).toEqual([9, undefined]);
  full();
  await behind.publish(never);
  expect(noteOf(behind)).toBe(noteOf(ahead));
});

it("while a tree cannot be written to the disk, the operator is told why, and it is published later", async () => {
  const log = await GrowingLog.begin();
  const publisher = await log.publisher(scratchFolder());
  await publisher.publish(never);
  const batch = await log.grow(5);
  const end = await watchSteps((name) => {
    if (name === "sync") throw Object.assign(new Error("no space left"), { syscall: "fsync" });
    return undefined;
  });
  await expect(publisher.publish(never, batch)).rejects.toThrow("no space left");
  end();
  expect(publisher.warning).toBe("The log folder cannot be written, so nothing new is published here: no space left.");
  expect(publisher.obstacle).toBeUndefined();
  await publisher.publish(never, batch);
  expect([publisher.warning, publisher.tree?.size]).toEqual([undefined, 6]);
});
