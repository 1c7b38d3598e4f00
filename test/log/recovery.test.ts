// stoa recover --log: how the log goes on after a backup was restored, or a folder was lost.
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { verifyItem } from "../../src/tlog/proofs/verify-item.ts";
import { operateWith } from "../operator/support.ts";
import { createTestDatabase } from "../support/database.ts";
import { serveHttp, webServerOf } from "../support/http-server.ts";
import { untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { type Service, startService } from "../support/service.ts";
import { functions } from "../tlog/node-functions.ts";
import { expectToGoOn, mirror, publishedLog, restoreBackup } from "./recovery-support.ts";
import { interrupt } from "./steps.ts";
import { GrowingLog, never, receiptEntry } from "./support.ts";

it("a database that lost nothing goes on as it is, also after a restore; programs get the result as JSON", async () => {
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

it("entries that are lost are put back from the folder, and one more tells of them", async () => {
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

it("a folder that is older than the database needs the operator's word, and a mirror then gives what is newer", async () => {
  const board = await publishedLog();
  const old = scratchFolder();
  cpSync(board.dataDir, old, { recursive: true });
  const publisher = await board.log.publisher(join(board.dataDir, "log"));
  await publisher.publish(never, await board.log.grow(100));
  const copy = await mirror(board, Buffer.from(publisher.tree?.note ?? []).toString(), 700);
  await publisher.stop();
  rmSync(board.dataDir, { recursive: true });
  cpSync(old, board.dataDir, { recursive: true });
  const { signed, note } = await board.log.head();
  await restoreBackup(board, 650);
  await board.log.test.rows("UPDATE log_head SET signed = 640, note = ?", [note]);
  expect(signed).toBe(700);
  const refused = await board.recover("--from", copy);
  expect([refused.status, refused.notes.join()]).toEqual([
    3,
    expect.stringMatching(/checkpoint of 600 entries, and the database one of 640.*--as-is/),
  ]);
  expect((await board.log.head()).size).toBe(650);
  expect((await board.recover("--from", copy, "--as-is")).out[0]).toMatch(/^put back the entries 650 to 699 from/);
  await expectToGoOn(board, 701);
});

it("the folder may be lost: the database as it is, or a mirror by HTTP", async () => {
  const board = await publishedLog();
  const { note } = await board.log.head();
  const copy = await mirror(board, note as string, 600);
  rmSync(join(board.dataDir, "log"), { recursive: true });
  await restoreBackup(board, 599);
  expect((await board.recover()).notes.join()).toMatch(/has no checkpoint.*--as-is/);
  const asked: string[] = [];
  const { url } = await serveHttp((request, response) => {
    const { url = "" } = request;
    // Like a service whose limit is reached.
    if (asked.push(url) === 1) response.writeHead(429, { "retry-after": "0" }).end();
    else webServerOf(copy)(request, response);
  });
  expect((await board.recover("--as-is", "--from", url)).status).toBe(0);
  // Entries that are not lost are not read: a log may have millions.
  expect(new Set(asked.filter((path) => path.includes("entries")))).toEqual(new Set(["/tile/entries/002.p/88"]));
  await expectToGoOn(board, 601);
  // The database alone is enough, too.
  rmSync(join(board.dataDir, "log"), { recursive: true });
  await board.log.test.rows("UPDATE log_head SET restored = 1");
  expect((await board.recover("--as-is")).status).toBe(0);
  await expectToGoOn(board, 604);
});

it("a mirror that is bent, cut off or huge changes nothing, and the message names the file", async () => {
  const board = await publishedLog();
  const { note } = await board.log.head();
  const copy = await mirror(board, note as string, 600);
  rmSync(join(board.dataDir, "log"), { recursive: true });
  await restoreBackup(board, 590);
  const before = await board.log.head();
  const bend = (bytes: Buffer) => Buffer.concat([Buffer.of((bytes[0] as number) ^ 1), bytes.subarray(1)]);
  for (const [path, change, message] of [
    ["checkpoint", bend, "has no checkpoint of this log"],
    ["checkpoint", () => Buffer.alloc(20 << 20), "checkpoint is too large"],
    ["tile/0/002.p/88", bend, "the tiles of .* are damaged: "],
    ["tile/1/000.p/2", () => Buffer.alloc(20 << 20), "tile/1/000.p/2 is too large"],
    ["tile/entries/002.p/88", (bytes: Buffer) => bytes.subarray(0, -1), "tile/entries/002.p/88 of .* is damaged"],
    ["tile/entries/002.p/88", () => Buffer.alloc(20 << 20), "tile/entries/002.p/88 is too large"],
    [
      "tile/entries/002.p/88",
      (bytes: Buffer) => Buffer.concat([bytes.subarray(0, -1), Buffer.of(0)]),
      "does not have the",
    ],
  ] as const) {
    const good = readFileSync(join(copy, path));
    writeFileSync(join(copy, path), change(good));
    const { status, out, notes } = await board.recover("--as-is", "--from", copy);
    expect([path, status, out, notes.join()]).toEqual([path, 3, [], expect.stringMatching(message)]);
    writeFileSync(join(copy, path), good);
  }
  expect(await board.log.head()).toEqual(before);
  expect((await board.recover("--as-is", "--from", copy)).status).toBe(0);
});

it("a damaged folder is begun anew once the database is known to have its tree", async () => {
  const board = await publishedLog();
  truncateSync(join(board.dataDir, "log", "entries", "000000"), 700);
  const { status, notes } = await board.recover();
  expect([status, notes.join()]).toEqual([0, expect.stringMatching(/the log folder is damaged: .*000000 was cut off/)]);
  await expectToGoOn(board, 600);
});

it("a database that contradicts what was published is left as it is", async () => {
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

it("the folder of a service that runs is not touched, and the options are checked", async () => {
  const board = await publishedLog();
  const publisher = await board.log.publisher(join(board.dataDir, "log"));
  expect((await board.recover()).notes.join()).toMatch(/in use by process/);
  await publisher.stop();
  const settings = { STOA_DATABASE_URL: urlOf(board.log.test.config), STOA_DATA_DIR: board.dataDir };
  for (const args of [["--from", "x"], ["--as-is"], ["--log", "--abandon", "1:x", "--note", "y"]]) {
    expect((await operateWith(settings, ["recover", ...args])).status).toBe(2);
  }
  expect((await board.recover("--from", scratchFolder())).status).toBe(3);
  const { url } = await serveHttp((_request, response) => void response.destroy());
  const { status, notes } = await board.recover("--from", url);
  expect([status, notes.join()]).toEqual([3, expect.stringMatching(`${url}/checkpoint cannot be read \\(.+\\)$`)]);
});

it("a post whose edit was lost with the restore is proved with the text that it has again", async () => {
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

it("a backup that is restored freezes the log until it was compared with what was published", async () => {
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
