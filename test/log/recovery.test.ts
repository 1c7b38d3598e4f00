// stoa recover --log: how the log goes on after a backup was restored, or a folder was lost.
import { join } from "node:path";
import { expect, it } from "vitest";
import { verifyItem } from "../../src/tlog/proofs/verify-item.ts";
import { operateWith } from "../operator/support.ts";
import { createTestDatabase } from "../support/database.ts";
import { untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type Service, startService } from "../support/service.ts";
import { functions } from "../tlog/node-functions.ts";
import { expectToGoOn, publishedLog, restoreBackup } from "./recovery-support.ts";
import { interrupt } from "./steps.ts";
import { GrowingLog, never, receiptEntry } from "./support.ts";

// Each has a board of its own, and they mostly wait: for programs, and for replicas that take a log over.
it.concurrent("a database that lost nothing goes on as it is, also after a restore; programs get the result as JSON", async () => {
  const board = await publishedLog();
  const { test } = board.log;
  await test.rows("UPDATE log_head SET restored = 1");
  const { status, out } = await board.recover();
  expect([status, out[0]]).toEqual([0, "the log is complete: the database has its 600 entries"]);
  await test.rows("UPDATE log_head SET restored = 1");
  const complete = await board.recover("--json");
  const result = { ok: true, size: 600, source: join(board.dataDir, "log"), from: null, to: null };
  expect([complete.status, complete.out.map((line) => JSON.parse(line))]).toEqual([0, [result]]);
  await expectToGoOn(board, 600);
});

it.concurrent("entries that are lost are put back from the folder, and one more tells of them", async () => {
  const board = await publishedLog();
  const published = await board.log.test.rows("SELECT * FROM log_entries ORDER BY idx");
  await restoreBackup(board, 250);
  const { status, out } = await board.recover();
  expect(status).toBe(0);
  expect(out[0]).toMatch(/^put back the entries 250 to 599 from \S+: 350 in all$/);
  expect(await board.log.test.rows("SELECT * FROM log_entries WHERE idx < 600 ORDER BY idx")).toEqual(published);
  const [told] = await board.log.test.rows<{ entry: string }>("SELECT entry FROM log_entries WHERE idx = 600");
  expect(JSON.parse(told?.entry ?? "")).toEqual({ from: 250, to: 600, ts: expect.any(String), type: "recovery", v: 1 });
  expect(await board.log.head()).toMatchObject({ size: 601, signed: 600, restored: 0 });
  await expectToGoOn(board, 601);
});

it.concurrent("a database that contradicts what was published is left as it is", async () => {
  const board = await publishedLog();
  await restoreBackup(board, 300);
  await board.log.grow(5, (index) => receiptEntry(index + 5000));
  const before = await board.log.head();
  const grown = await board.recover();
  expect([grown.status, grown.notes.join()]).toEqual([3, expect.stringMatching(/another tree of 305 entries than/)]);
  await board.log.grow(400, (index) => receiptEntry(index + 5000));
  expect((await board.recover()).notes.join()).toMatch(/another tree of 600 entries than/);
  expect((await board.log.head()).restored).toBe(before.restored);
});

it.concurrent("a post whose edit was lost with the restore is proved with the text that it has again", async () => {
  const dataDir = scratchFolder();
  const { db, key, boardLog } = await createLoggedDatabase();
  const first = await startService({ db, config: { boardLog, dataDir } });
  const agent = await first.register();
  const { body } = await first.rest("posts", { key: agent.key, body: { title: "A race", body: "one" } });
  const path = `posts/${body.post.id}`;
  const prove = async (service: Service, text: string) => {
    await untilPublished(service);
    const proof = new Uint8Array(await (await fetch(`${service.url}/api/v1/${path}/proof`)).arrayBuffer());
    await verifyItem(proof, { kind: "post", id: body.post.id, shown: { body: text } }, [key], functions);
  };
  await prove(first, "one");
  const [row] = await db.rows<{ body: string; salt: Buffer }>("SELECT body, salt FROM posts");
  const head = await first.rest("log/entries");
  await first.rest(path, { method: "PATCH", key: agent.key, body: { body: "two" } });
  await prove(first, "two");
  await first.app.close();
  // As a backup from before the edit has it.
  await db.rows("UPDATE posts SET body = ?, salt = ?", [row?.body, row?.salt]);
  const log = new GrowingLog(db);
  await log.rollBack(head.body.size, { signed: 0, note: null });
  const settings = { STOA_DATABASE_URL: urlOf(db.config), STOA_DATA_DIR: dataDir };
  expect((await operateWith(settings, ["recover", "--log"])).out[0]).toMatch(/^put back/);
  const again = await startService({ db, config: { boardLog, dataDir } });
  await prove(again, "one");
  expect((await again.rest("/readyz")).body.warning).toBeUndefined();
  const { out } = await operateWith(settings, ["fsck"]);
  expect(out.filter((line) => /log_|salt/.test(line))).toEqual([]);
});

it.concurrent("a backup that is restored freezes the log until it was compared with what was published", async () => {
  const board = await publishedLog();
  const file = join(scratchFolder(), "backup.sql");
  const { config } = board.log.test;
  // A backup names the newest receipt.
  await board.log.test.rows("UPDATE ledger_head SET seq = 0");
  expect((await operateWith({ STOA_DATABASE_URL: urlOf(config) }, ["backup", file])).status).toBe(0);
  const empty = await createTestDatabase();
  expect((await operateWith({ STOA_DATABASE_URL: urlOf(empty.config) }, ["restore", file])).status).toBe(0);
  expect(await empty.rows("SELECT size, restored FROM log_head")).toEqual([{ size: 600, restored: 1 }]);
  const settings = { STOA_DATABASE_URL: urlOf(empty.config), STOA_DATA_DIR: board.dataDir };
  expect((await operateWith(settings, ["recover", "--log"])).out[0]).toMatch(/^the log is complete/);
  expect(await empty.rows("SELECT restored FROM log_head")).toEqual([{ restored: 0 }]);
});

it("people see the progress of a long recovery, and programs get what it has put back", async () => {
  const board = await publishedLog();
  const source = join(board.dataDir, "log");
  const publisher = await board.log.publisher(source);
  await publisher.publish(never, await board.log.grow(10_000));
  await publisher.stop();
  await restoreBackup(board, 250);
  const { out, notes } = await board.recover("--json");
  expect(out.map((line) => JSON.parse(line))).toEqual([{ ok: true, size: 10_601, source, from: 250, to: 10_600 }]);
  expect(notes.join()).toMatch(/put back 10\d\d\d of 10350 entries/);
});

it("a recovery that ends at any of its steps leaves the log frozen, and is done by the next one", async () => {
  const board = await publishedLog();
  const names = new Set<string>();
  for (let step = 1, isOver = false; !isOver; step++) {
    await restoreBackup(board, 250);
    const end = await interrupt("killed", step, names);
    const { status } = await board.recover();
    isOver = end() < step;
    expect(status).toBe(isOver ? 0 : 3);
    const { size, restored } = await board.log.head();
    // It is over for all at once.
    expect([250, 601]).toContain(size);
    expect(restored).toBe(size === 250 ? 1 : 0);
    expect((await board.recover()).status).toBe(0);
    expect(await board.log.head()).toMatchObject({ size: 601, restored: 0 });
  }
  expect(names).toContain("transaction");
  await expectToGoOn(board, 601);
});
