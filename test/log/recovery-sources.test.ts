// stoa recover --log: what it reads from the folder of the signer, or from a mirror.
import { cpSync, readFileSync, rmSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { operateWith } from "../operator/support.ts";
import { serveHttp, webServerOf } from "../support/http-server.ts";
import { urlOf } from "../support/process.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { expectToGoOn, lostFolder, mirror, publishedLog, restoreBackup } from "./recovery-support.ts";
import { never } from "./support.ts";

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
  const { copy, ...board } = await lostFolder(599);
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
  const { copy, ...board } = await lostFolder(590);
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

it("what a damaged folder cannot put back is read from a mirror of the same tree", async () => {
  const board = await publishedLog();
  const { note } = await board.log.head();
  const copy = await mirror(board, note as string, 600);
  truncateSync(join(board.dataDir, "log", "entries", "000000"), 700);
  await restoreBackup(board, 590);
  expect((await board.recover()).notes.join()).toMatch(/cut off\); name a mirror of its 600 entries with --from/);
  expect((await board.recover("--from", copy)).out[0]).toBe(`put back the entries 590 to 599 from ${copy}: 10 in all`);
  await expectToGoOn(board, 601);
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
