import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import { FakeLog, origin, startSite } from "../client/fake-log.ts";
import { serveHttp, webServerOf } from "../support/http-server.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { testKey } from "../tlog/node-functions.ts";
import { checkpointOf, sampleKey } from "../tlog/sample-log.ts";
import { testEntries } from "../tlog/test-log.ts";
import { filesOf, runStoa, startProcess } from "./stoa.ts";

const mirror = (url: string, folder: string, ...more: string[]) => runStoa(["mirror", url, folder, ...more], "/");

/** Checks that a folder has all files of a log and no other. */
function expectMirror(folder: string, log: FakeLog): void {
  const files = filesOf(folder);
  for (const [path, bytes] of files) expect([path, log.file(path)?.length]).toEqual([path, bytes.length]);
  for (const [path, bytes] of files) expect(bytes.equals(log.file(path) as Uint8Array), path).toBe(true);
  // The checkpoint, bundles, and tiles of two levels.
  const full = Math.floor(log.size / 256);
  expect(files.size).toBe(1 + 2 * Math.ceil(log.size / 256) + Math.ceil(full / 256));
}

describe("stoa mirror", () => {
  it("copies a log, as a process, into a folder that has the files of the log", async () => {
    const site = await startSite(await FakeLog.of(600));
    const folder = join(scratchFolder(), "new/mirror");
    const { status, stdout, stderr } = await startProcess(["mirror", site.url, folder], "/").done;
    expect({ status, stdout }).toEqual({
      status: 0,
      stdout: `${folder} has 600 entries of ${origin}, 600 of them new\n`,
    });
    expect(stderr).toBe(
      `stoa: the log says that its key is ${formatVkey(sampleKey)}; compare it with one that you trust\n`,
    );
    expectMirror(folder, site.log);
  });

  it("shows the progress of what is new", async () => {
    const site = await startSite(await FakeLog.of(300));
    const folder = scratchFolder();
    await mirror(site.url, folder);
    await site.log.grow(testEntries(300, 400));
    // A terminal, at which nothing is asked.
    const { stderr } = await runStoa(["mirror", site.url, folder], "/", {}, "");
    expect(stderr).toContain("] 100 of 100 entries");
  });

  it("then copies only what is new", async () => {
    const site = await startSite(await FakeLog.of(600));
    const folder = scratchFolder();
    await mirror(site.url, folder);
    // The last one has a third level of tiles.
    for (const size of [600, 700, 767, 768, 66_000]) {
      await site.log.grow(testEntries(site.log.size, size));
      const before = filesOf(folder);
      site.asked.length = 0;
      const { status, stdout } = await mirror(site.url, folder, "--json");
      const known = JSON.parse(stdout);
      expect([status, known.ok, known.to]).toEqual([0, true, size]);
      // Nothing is requested that the folder has as it is.
      for (const path of site.asked.filter((each) => each.includes("/entries/")))
        expect(before.has(path.slice(5))).toBe(false);
    }
    // The partial tiles of the tree before stay for readers who have its checkpoint.
    for (const path of filesOf(folder).keys()) expect(path).not.toContain(".p/76");
    expect(JSON.parse((await mirror(site.url, folder, "--json")).stdout)).toEqual({
      ok: true,
      url: site.url,
      dir: folder,
      origin,
      vkey: formatVkey(sampleKey),
      from: 66_000,
      to: 66_000,
      root: Buffer.from(site.log.log.range.root()).toString("base64"),
      reason: null,
      duration_ms: expect.any(Number),
    });
    const third = "tile/2/000.p/1";
    expect(readFileSync(join(folder, third)).equals(site.log.file(third) as Uint8Array)).toBe(true);
  });

  it("makes a mirror that others can copy and verify, served by a plain web server", async () => {
    const site = await startSite(await FakeLog.of(300));
    const folder = scratchFolder();
    await mirror(site.url, folder);
    await site.log.grow(testEntries(300, 900));
    await mirror(site.url, folder);
    const { url } = await serveHttp(webServerOf(folder));
    const copy = scratchFolder();
    expect(await mirror(url, copy, "--log-key", formatVkey(sampleKey))).toEqual({
      status: 0,
      stdout: `${copy} has 900 entries of ${origin}, 900 of them new\n`,
      stderr: "",
    });
    expectMirror(copy, site.log);
  });

  it("reads the beginning of full tiles and bundles where the partial ones are gone", async () => {
    const site = await startSite(await FakeLog.of(700));
    const { note } = site.log;
    await site.log.grow(testEntries(700, 1024));
    site.intercept = (path, response) => {
      if (path.endsWith("checkpoint")) return !!response.end(note);
      return /entries.*\.p|tile\/0.*\.p/.test(path) && !!response.writeHead(404).end();
    };
    const folder = scratchFolder();
    expect(await mirror(site.url, folder)).toMatchObject({ status: 0 });
    expectMirror(folder, await FakeLog.of(700));
  });

  it("goes on after an interruption, and reads no bundle twice", async () => {
    const site = await startSite(await FakeLog.of(5000));
    const folder = scratchFolder();
    const last = "/log/tile/entries/018";
    site.intercept = (path, response) => path === last && !!response.writeHead(400).end();
    expect(await mirror(site.url, folder)).toMatchObject({ status: 3, stdout: "" });
    expect(existsSync(join(folder, "checkpoint"))).toBe(false);
    const kept = [...filesOf(folder).keys()].filter((path) => /entries\/00[1-9]/.test(path));
    expect(kept.length).toBeGreaterThan(3);
    // One of them was damaged meanwhile.
    const damaged = kept[2] as string;
    writeFileSync(join(folder, damaged), "x");
    site.intercept = undefined;
    site.asked.length = 0;
    expect(await mirror(site.url, folder)).toMatchObject({ status: 0 });
    expect(site.asked.filter((path) => kept.includes(path.slice(5)))).toEqual([`/log/${damaged}`]);
    expectMirror(folder, site.log);
  });
});

describe("stoa mirror exits with 3 and gives no verdict", () => {
  const answers: [string, (response: ServerResponse, url: string) => unknown, string][] = [
    ["nothing is there", (response) => response.writeHead(404).end(), "unusable: there is no log at this address"],
    ["the answer is huge", (response) => response.end(Buffer.alloc(20 << 20, "x\n")), "unusable: this is not a log: "],
    [
      "the log is empty",
      async (response) => response.end(await checkpointOf({ size: 0, root: new Uint8Array(32) })),
      "unusable: the log has no entries",
    ],
  ];

  // All at once, because a failure is tried again after a while.
  it(`when ${answers.map(([what]) => what).join(", when ")}`, async () => {
    const tried = answers.map(async ([what, respond, reason]) => {
      const site = await startSite(await FakeLog.of(3));
      site.intercept = (_, response) => {
        respond(response, site.url);
        return true;
      };
      const folder = scratchFolder();
      const { status, stdout, stderr } = await mirror(site.url, folder);
      expect({ what, status, stdout }).toEqual({ what, status: 3, stdout: "" });
      expect(stderr).toContain(`stoa: ${site.url} could not be copied: ${reason}`);
      expect(stderr).toMatch(/^[\x20-\x7e]+\n$/);
      expect(readdirSync(folder), what).toEqual([]);
    });
    await Promise.all(tried);
  });

  it("when it is interrupted, and leaves nothing half-written", async () => {
    const site = await startSite(await FakeLog.of(2000));
    const folder = scratchFolder();
    // This bundle never comes.
    const held = new Promise<void>((resolve) => {
      site.intercept = (path) => {
        if (!path.includes("entries/004")) return false;
        resolve();
        return true;
      };
    });
    const run = startProcess(["mirror", site.url, folder, "--json"], "/");
    await held;
    run.signal("SIGINT");
    const { status, stdout } = await run.done;
    expect(status).toBe(3);
    expect(JSON.parse(stdout)).toMatchObject({ ok: null, to: 0, reason: "interrupted: it was not done" });
    for (const [path, bytes] of filesOf(folder))
      expect(bytes.equals(site.log.file(path) as Uint8Array), path).toBe(true);
  });
});

describe("stoa mirror", () => {
  it("refuses a folder that cannot be used, before it reads anything", async () => {
    const site = await startSite(await FakeLog.of(300));
    const folder = scratchFolder();
    await mirror(site.url, folder);
    writeFileSync(join(folder, "file"), "");
    site.asked.length = 0;
    const refused = async (path: string, reason: string, ...more: string[]) => {
      const { status, stdout, stderr } = await mirror(site.url, path, ...more);
      expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
      expect(stderr).toContain(`stoa: the folder ${path} ${reason}`);
    };
    await refused(join(folder, "file"), "cannot be read: ENOTDIR");
    await refused(
      folder,
      "is not a good mirror of this log: the checkpoint is of another log",
      "--log-key",
      formatVkey(await testKey("x")),
    );
    rmSync(join(folder, "tile/0/001.p"), { recursive: true });
    await refused(folder, "is not a good mirror of this log: tile/0/001.p/44 is not there");
    writeFileSync(join(folder, "checkpoint"), "x");
    await refused(folder, "is not a good mirror of this log: this is not a log: the note is malformed");
    expect(site.asked).toEqual([]);
  });
});
