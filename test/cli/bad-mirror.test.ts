// What a mirror says of a log that does not verify.
import { cpSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { FakeLog, type FakeSite, firstEntry, origin, startSite } from "../client/fake-log.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { testKey } from "../tlog/node-functions.ts";
import { sampleKey } from "../tlog/sample-log.ts";
import { filesOf, runStoa } from "./stoa.ts";

const mirror = (url: string, folder: string, ...more: string[]) => runStoa(["mirror", url, folder, ...more], "/");

const log = await FakeLog.of(800);
/** A mirror of its first 300 entries. */
const before = scratchFolder();
await mirror((await startSite(await FakeLog.of(300))).url, before);

describe("stoa mirror of a log that does not verify", () => {
  const answer =
    (match: RegExp, body: string | Uint8Array | ((was: Uint8Array) => Uint8Array)) =>
    (site: FakeSite): void => {
      site.intercept = (path, response) => {
        if (!match.test(path)) return false;
        return !!response.end(typeof body === "function" ? body(site.log.file(path.slice(5)) as Uint8Array) : body);
      };
    };
  const bent = (bytes: Uint8Array) => Uint8Array.from(bytes, (byte, at) => (at === 40 ? byte ^ 1 : byte));
  /** A log with another key, or one with other entries after the first one. */
  const replacedBy = (size: number, name?: string) => async (site: FakeSite) => {
    const others = Array.from({ length: size - 1 }, (_, at) => `other ${at}`);
    site.log =
      name === undefined
        ? await FakeLog.of([firstEntry(sampleKey), ...others])
        : await FakeLog.of(size, await testKey(name, 8));
  };
  const answerNothing = (match: RegExp) => (site: FakeSite) => {
    site.intercept = (path, response) => match.test(path) && !!response.writeHead(404).end();
  };

  const defects: [string, string, (site: FakeSite) => unknown][] = [
    ["whose checkpoint is bent", "bad_note", answer(/checkpoint/, "\u001b[2Jhello\n")],
    ["whose checkpoint is huge", "bad_note", answer(/checkpoint/, Buffer.alloc(20 << 20, "x\n"))],
    [
      "whose checkpoint has another size",
      "bad_signature",
      answer(/checkpoint/, (note) => Buffer.from(Buffer.from(note).toString().replace("800", "801"))),
    ],
    ["that is another one", "other_origin", replacedBy(800, "other.example/log")],
    ["that has another key", "unsigned", replacedBy(800, origin)],
    ["that has another history", "not_consistent", replacedBy(501)],
    ["that is another tree of the same size", "not_consistent", replacedBy(300)],
    ["that is gone", "gone", answerNothing(/./)],
    ["of which a tile is bent", "wrong_tile", answer(/tile\/1\//, bent)],
    ["of which a tile is cut off", "bad_tile", answer(/tile\/1\//, (tile) => tile.subarray(1))],
    ["of which a tile is huge", "bad_tile", answer(/tile\/1\//, Buffer.alloc(20 << 20))],
    ["of which the last bundle is bent", "wrong_tile", answer(/tile\/entries\/003.p/, bent)],
    ["of which a bundle is cut off", "bad_bundle", answer(/tile\/entries\/002/, (bundle) => bundle.subarray(0, -1))],
    ["of which a bundle is huge", "bad_bundle", answer(/tile\/entries\/002/, Buffer.alloc(20 << 20))],
  ];

  async function expectNamed(what: string, fault: string, change: (site: FakeSite) => unknown): Promise<void> {
    const [site, folder] = [await startSite(log), scratchFolder()];
    cpSync(before, folder, { recursive: true });
    await change(site);
    const { status, stdout, stderr } = await mirror(site.url, folder, "--json");
    expect({ what, status, stderr }).toEqual({ what, status: 1, stderr: "" });
    const { ok, to, reason } = JSON.parse(stdout);
    expect({ what, ok, to }).toEqual({ what, ok: false, to: 300 });
    // The message has no character that a terminal obeys.
    expect(reason).toMatch(new RegExp(`^${fault}: [\\x20-\\x7e]+$`));
    // Nothing that the folder has is worse than before.
    for (const [path, bytes] of filesOf(before)) expect(filesOf(folder).get(path)?.equals(bytes)).toBe(true);
  }

  it.each(defects)("names one %s: %s", expectNamed);

  // Both at once, because what a replica may only lack as yet is asked for again after a while.
  it("names one that is shorter, and one of which a bundle is missing", async () => {
    await Promise.all([
      expectNamed("shorter", "shrunk", async (site) => {
        site.log = await FakeLog.of(299);
      }),
      expectNamed("without a bundle", "missing_tile", answerNothing(/entries\/002/)),
    ]);
  });

  it("names a log that does not say which one it is", async () => {
    for (const [entries, fault] of [
      [[`{"from":0,"to":0,"ts":"2026-01-31T00:00:00.000Z","type":"recovery","v":1}`], "misplaced_entry"],
      [["garbage"], "bad_entry"],
      [[firstEntry(await testKey("other.example/log"))], "other_origin"],
    ] as const) {
      const site = await startSite(await FakeLog.of(entries));
      const { status, stdout } = await mirror(site.url, scratchFolder());
      expect([status, stdout]).toEqual([1, expect.stringContaining(`does not verify: ${fault}: `)]);
    }
  });
});
