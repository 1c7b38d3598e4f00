// What a replica does whose database or folder contradicts what it has published: it signs nothing, and serves its last note.
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import type { Publisher } from "../../src/log/publisher/publisher.ts";
import { putLogRestored } from "../../src/store/tables/log-head.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { testKey } from "../tlog/node-functions.ts";
import { GrowingLog, never, receiptEntry } from "./support.ts";

interface Published {
  log: GrowingLog;
  path: string;
  publisher: Publisher;
}

/** A log of 20 entries that is published. */
async function published(): Promise<Published> {
  const log = await GrowingLog.begin();
  const path = scratchFolder();
  const publisher = await log.publisher(path);
  await publisher.publish(never, await log.grow(19));
  return { log, path, publisher };
}

/** Checks that a publisher is frozen at its note, whatever it is asked to do. */
async function expectFrozen({ log, publisher }: Omit<Published, "path">, why: RegExp, size = 20) {
  const { signed } = await log.head();
  await publisher.publish(never);
  await publisher.publish(never, await log.grow(2, (index) => receiptEntry(index + 1000)));
  expect(publisher.obstacle).toMatch(why);
  expect(publisher.warning).toBe(`The log is frozen, and nothing is added to it. ${publisher.obstacle}`);
  expect([publisher.published.size, (await log.head()).signed]).toEqual([size, signed]);
}

it.concurrent("a database that was rolled back is not signed, neither before nor after it has grown beyond what was published", async () => {
  const { log, path, publisher } = await published();
  const note = Buffer.from(publisher.tree?.note ?? []);
  await log.rollBack(12, { signed: 0, note: null });
  const lacks = /published a tree of 20 entries, and the database has 1[24].* recover --log/;
  await expectFrozen({ log, publisher }, lacks);
  await publisher.stop();
  const again = await log.publisher(path);
  expect(again.obstacle).toMatch(/has 14/);
  await log.grow(20, (index) => receiptEntry(index + 1000));
  await expectFrozen({ log, publisher: again }, /tree of \d+ entries does not extend the one of 20/);
  expect(Buffer.from(again.tree?.note ?? [])).toEqual(note);
});

it.concurrent("of a database with another note of the same size, nothing is served", async () => {
  const { log, publisher } = await published();
  await log.rollBack(12, { signed: 0, note: null });
  await log.grow(8, (index) => receiptEntry(index + 1000));
  const other = await log.publisher(scratchFolder());
  await other.publish(never);
  expect([other.tree?.size, (await log.head()).signed]).toEqual([20, 20]);
  await publisher.publish(never);
  expect(publisher.obstacle).toMatch(/another tree of 20 entries/);
});

it.concurrent("a database that has caught up again ends it", async () => {
  const { log, publisher } = await published();
  const head = await log.head();
  await log.test.rows("UPDATE log_head SET size = 15, signed = 0, note = NULL");
  await publisher.publish(never);
  expect(publisher.warning).toMatch(/the database has 15/);
  await log.test.rows("UPDATE log_head SET size = 20, signed = 20, note = ?", [head.note]);
  await publisher.publish(never, await log.grow(1));
  expect([publisher.warning, publisher.tree?.size]).toEqual([undefined, 21]);
});

it.concurrent("a database that was restored is not signed, not even by a replica with an empty folder", async () => {
  const { log, publisher } = await published();
  await log.db.transaction(never, (tx) => putLogRestored(tx, true));
  await expectFrozen({ log, publisher }, /restored from a backup.* recover --log/);
  await expectFrozen({ log, publisher: await log.publisher(scratchFolder()) }, /restored/, 0);
});

it.concurrent("an entry that was changed in the database is not signed", async () => {
  const { log, publisher } = await published();
  await log.grow(2);
  await log.test.rows("DROP TRIGGER IF EXISTS log_entries_are_not_updated");
  await log.test.rows("UPDATE log_entries SET entry = ? WHERE idx = 21", [Buffer.from(receiptEntry(99)).toString()]);
  await publisher.publish(never);
  expect(publisher.obstacle).toMatch(/tree of 22 entries does not extend the one of 20/);
});

it.concurrent("a note of another key in the database is not served", async () => {
  const { log, publisher } = await published();
  const { note } = await log.head();
  await log.test.rows("UPDATE log_head SET note = ?", [note?.replace(/.{8}\n$/, "AAAAAA==\n")]);
  await log.grow(2);
  await publisher.publish(never);
  expect(publisher.obstacle).toMatch(/note in the database is not one of this log/);
});

it.concurrent("a folder signs nothing that was changed, or of which a part was cut off or is missing", async () => {
  const { log, path, publisher } = await published();
  await publisher.stop();
  const change = (name: string, to: (bytes: Buffer) => Uint8Array) => (path: string) =>
    writeFileSync(join(path, name), to(readFileSync(join(path, name))));
  const damages: [damage: (path: string) => void, why: RegExp, size?: 0][] = [
    [
      change("entries/000000", (bytes) => bytes.map((byte, at) => (at === 200 ? byte ^ 1 : byte))),
      /000000 does not have the entries of the checkpoint/,
    ],
    [(path) => truncateSync(join(path, "entries/000000"), 500), /000000 was cut off/],
    [(path) => rmSync(join(path, "entries/000000.range")), /000000\.range is missing/],
    [
      change("checkpoint", (note) => Buffer.from(note.toString().replace("\n20\n", "\n21\n"))),
      /checkpoint: a signature of the key is not good/,
      0,
    ],
    [(path) => rmSync(join(path, "checkpoint")), /checkpoint is missing/, 0],
    [(path) => truncateSync(join(path, "checkpoint")), /checkpoint is missing or empty/, 0],
  ];
  for (const [damage, why, size] of damages) {
    const copy = scratchFolder();
    cpSync(path, copy, { recursive: true });
    damage(copy);
    const damaged = await log.publisher(copy);
    expect([damaged.published.size, damaged.obstacle]).toEqual([size ?? 20, expect.stringMatching(why)]);
    await expectFrozen({ log, publisher: damaged }, why, size);
  }
});

it.concurrent("damage that comes while it is published is found before anything is signed", async () => {
  const { log, path, publisher } = await published();
  truncateSync(join(path, "entries", "000000"), 500);
  await expectFrozen({ log, publisher }, /was cut off/);
});

it.concurrent("a folder that another process uses is not used, and is taken over when that has ended", async () => {
  const { log, path, publisher } = await published();
  const second = await log.publisher(path);
  expect([second.obstacle, second.tree]).toEqual([
    expect.stringMatching(`${path} cannot be used: .* in use`),
    undefined,
  ]);
  await publisher.stop();
  // It is tried again some seconds later; a start does it at once.
  expect((await log.publisher(path)).obstacle).toBeUndefined();
});

it.concurrent("a folder of another log is not used", async () => {
  const { log, path } = await published();
  const copy = scratchFolder();
  cpSync(path, copy, { recursive: true });
  const key = await testKey("other.example/log");
  const other = await log.publisher(copy, { key });
  expect(other.obstacle).toMatch(/checkpoint: the checkpoint is of another log/);
});
