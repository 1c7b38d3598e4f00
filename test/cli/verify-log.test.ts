// stoa verify of a service that has a log.
import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { formatEntry } from "../../src/tlog/entries/entry-text.ts";
import { formatVkey } from "../../src/tlog/notes/key.ts";
import { FakeLog, origin } from "../client/fake-log.ts";
import { startFake } from "../client/fake-stoa.ts";
import type { LooseDocument } from "../receipt/chain.ts";
import { waitUntil } from "../support/wait.ts";
import { testKey } from "../tlog/node-functions.ts";
import { sampleKey } from "../tlog/sample-log.ts";
import { LoggedStoa } from "./logged-stoa.ts";

const vkey = formatVkey(sampleKey);

/** A daily receipt that names no log. */
const unnamed = ({ evidence }: LooseDocument) => {
  delete evidence.log;
};

describe("stoa verify of a service with a log", () => {
  it("reports the log, and remembers its key and its checkpoint", async () => {
    const stoa = await LoggedStoa.start(7);
    const head = stoa.chain.at(-1)?.hash;
    expect(await stoa.verify()).toEqual({
      status: 0,
      stdout: `verified receipts 1 to 7 of ${stoa.fake.url}: head ${head}
verified the log ${origin}: ${stoa.log.size} entries, signed by ${vkey}
`,
      stderr: "",
    });
    const checkpoint = Buffer.from(stoa.log.note).toString();
    expect(stoa.remembered()).toMatchObject({ seq: 7, hash: head, log: { vkey, checkpoint } });
    await stoa.seal();
    const { ok, log } = await stoa.verifyJson("--from", "last", "--log-key", vkey);
    const next = Buffer.from(stoa.log.note).toString();
    expect({ ok, log }).toEqual({ ok: true, log: { origin, vkey, size: stoa.log.size, checkpoint: next } });
    expect(stoa.remembered().log.checkpoint).toBe(next);
  });

  it("compares daily receipts that are sealed while it follows", async () => {
    const stoa = await LoggedStoa.start(7);
    const run = stoa.follow();
    await waitUntil("the end of the chain", () => stoa.fake.followers.size === 1);
    const send = () => {
      for (const each of stoa.fake.followers) each.write(`${JSON.stringify(stoa.fake.receipts.at(-1))}\n`);
    };
    await stoa.seal();
    await stoa.seal();
    for (const each of stoa.fake.followers) each.write(`${JSON.stringify(stoa.fake.receipts.at(-2))}\n`);
    send();
    await waitUntil("receipt 9", () => run.stdout.includes('"seq":9'));
    // The daily receipt names a tree that was signed after the start, and that is remembered now.
    expect(stoa.remembered()).toMatchObject({ seq: 9, log: { checkpoint: Buffer.from(stoa.log.note).toString() } });
    await stoa.seal();
    send();
    await stoa.seal((document) => {
      document.evidence.log.size--;
    });
    send();
    expect(await run.done).toMatchObject({ status: 1, stdout: expect.stringContaining('"reason":"wrong_root: ') });
  });

  it("finds a log that begins while it follows, and from then on every daily receipt must name it", async () => {
    const stoa = new LoggedStoa(await startFake([]), await FakeLog.of(40));
    for (let seq = 1; seq <= 3; seq++) await stoa.seal(unnamed);
    const begin = stoa.withoutLog();
    expect(await stoa.verifyJson()).toMatchObject({ ok: true, log: null });
    const run = stoa.follow();
    await waitUntil("the end of the chain", () => stoa.fake.followers.size === 1);
    begin();
    await stoa.seal();
    await stoa.seal();
    for (const each of stoa.fake.followers)
      for (const receipt of stoa.fake.receipts.slice(-2)) each.write(`${JSON.stringify(receipt)}\n`);
    await waitUntil("receipt 5", () => run.stdout.includes('"seq":5'));
    expect(stoa.remembered()).toMatchObject({ seq: 5, log: { vkey } });
    run.signal("SIGINT");
    expect(await run.done).toMatchObject({ status: 0 });
    for (let seq = 6; seq <= 7; seq++) await stoa.seal(unnamed);
    for (const from of ["1", "last"])
      expect(await stoa.verifyJson("--from", from)).toMatchObject({ ok: false, broken_at: 7 });
  });

  type Defect = [what: string, fault: string, at: number | null, change: (stoa: LoggedStoa) => unknown];
  const evidence = (change: (log: LooseDocument) => void) => async (stoa: LoggedStoa) => {
    await stoa.seal();
    await stoa.seal(({ evidence }) => change(evidence.log));
  };
  const named = (what: object) => evidence((log) => Object.assign(log, what));
  const news: Defect[] = [
    ["a daily receipt names another root", "wrong_root", 9, named({ root: "ab".repeat(32) })],
    ["a daily receipt names a tree that the log does not have", "wrong_root", 9, named({ size: 4100 })],
    ["a daily receipt names another log", "other_origin", 9, named({ origin: "other.example/log" })],
    ["what a daily receipt says of the log is malformed", "wrong_root", 9, named({ size: -1 })],
    [
      "a daily receipt does not name the log any more",
      "wrong_root",
      9,
      async (stoa) => {
        await stoa.seal();
        await stoa.seal(unnamed);
      },
    ],
    ["the newest receipt that is old enough is not in the log", "not_logged", 8, (stoa) => stoa.seal(() => {}, false)],
    [
      "a signature is bad",
      "bad_signature",
      null,
      async (stoa) => {
        const note = Buffer.from(stoa.log.note).toString();
        stoa.log.note = Uint8Array.from(Buffer.from(note.replace("\n68\n", "\n67\n")));
      },
    ],
    ["a tile is bent", "wrong_tile", null, (stoa) => stoa.log.log.tiles.get("tile/0/000")?.fill(1, 40, 41)],
  ];
  const changes: Defect[] = [
    ["the log has another history", "not_consistent", null, (stoa) => stoa.fork(30)],
    [
      "the log is shorter",
      "shrunk",
      null,
      async (stoa) => {
        stoa.log = await FakeLog.of(20);
      },
    ],
    ["the log has another key", "unsigned", null, async (stoa) => stoa.fork(99, await testKey(origin, 8))],
    ["the log is gone", "gone", null, (stoa) => stoa.withoutLog()],
  ];

  // Concurrently, as some wait for what a late replica would show soon.
  it.concurrent.each([...news, ...changes])("fails and names it if %s: %s", async (what, fault, seq, change) => {
    const stoa = await LoggedStoa.start(7);
    expect(await stoa.verify()).toMatchObject({ status: 0 });
    const before = readFileSync(stoa.state, "utf8");
    await change(stoa);
    const subject = seq === null ? "the log" : `receipt ${seq}`;
    expect(await stoa.verify()).toEqual({
      status: 1,
      stdout: expect.stringMatching(`^${subject} does not verify: ${fault}: [\\x20-\\x7e]+\n$`),
      stderr: "",
    });
    // News are found without a memory, too.
    if (news.some(([each]) => each === what)) {
      const reason = expect.stringMatching(`^${fault}: `);
      expect(await stoa.verifyAfresh()).toMatchObject({ ok: false, broken_at: seq, reason });
    }
    // The next verification finds the same.
    expect(readFileSync(stoa.state, "utf8")).toBe(before);
  });

  it.concurrent("accepts receipts of the log that this one replaces", async () => {
    const previous = { origin: "old.example/log", root: "cd".repeat(32), size: 9, vkey };
    const first = formatEntry({ type: "log", origin, vkey, previous, ts: "2026-02-01T00:00:00.000Z" });
    const stoa = new LoggedStoa(await startFake([]), await FakeLog.of([first, "one", "two"]));
    const named = (name: string) => (document: LooseDocument) => {
      if (document.evidence.log !== undefined) document.evidence.log.origin = name;
    };
    for (let seq = 1; seq <= 3; seq++) await stoa.seal(named(previous.origin));
    // Receipt 5 was sealed before the first checkpoint of the new one.
    for (let seq = 4; seq <= 7; seq++) await stoa.seal(seq === 5 ? unnamed : undefined);
    expect(await stoa.verify()).toMatchObject({ status: 0 });
    await stoa.seal();
    await stoa.seal(named(previous.origin));
    expect(await stoa.verifyJson()).toMatchObject({
      ok: false,
      broken_at: 9,
      reason: expect.stringMatching("^other_origin: "),
    });
  });

  it.concurrent("fails at the first receipt that names a log if the service has none", async () => {
    const stoa = await LoggedStoa.start(7);
    stoa.withoutLog();
    const { ok, broken_at, reason, log } = await stoa.verifyJson();
    expect({ ok, broken_at, log }).toEqual({ ok: false, broken_at: 3, log: null });
    expect(reason).toBe("gone: it seals the root of a log, and the service has none");
  });

  it.concurrent("does not begin if --log-key is not the remembered key, or the state has a bad log", async () => {
    const stoa = await LoggedStoa.start(7);
    await stoa.verify();
    const other = formatVkey(await testKey(origin, 8));
    expect(await stoa.verify("--log-key", other)).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^stoa: --log-key is not the key that the state file remembers; /),
    });
    expect(await stoa.verify("--log-key", "x")).toMatchObject({
      status: 2,
      stderr: expect.stringContaining("cannot be used"),
    });
    const state = stoa.remembered();
    for (const log of [1, { vkey }, { ...state.log, checkpoint: "x" }, { ...state.log, vkey: other }]) {
      writeFileSync(stoa.state, JSON.stringify({ ...state, log }));
      expect(await stoa.verify()).toMatchObject({
        status: 2,
        stdout: "",
        stderr: expect.stringMatching(/damaged|a bad log/),
      });
    }
  });

  it.concurrent("knows nothing if the log cannot be read", async () => {
    const stoa = await LoggedStoa.start(7);
    stoa.fake.intercept = (path, response) => path.startsWith("/log/") && !!response.writeHead(500).end();
    expect(await stoa.verifyJson()).toMatchObject({
      ok: null,
      count: 0,
      reason: expect.stringMatching("^unavailable: "),
    });
  });
});
