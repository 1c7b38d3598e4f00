import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { answerStream, shownChain, startFake } from "../client/fake-stoa.ts";
import { fill, startLedger, unlockReceipts } from "../ledger/support.ts";
import { buildChain, type Receipt } from "../receipt/chain.ts";
import { listenHttp } from "../support/http-server.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { runStoa, startProcess } from "./stoa.ts";

const service = await startLedger();
await fill(service.db, 11);

const hashAt = async (seq: number) =>
  (await service.db.rows<{ hash: string }>("SELECT hash FROM receipts WHERE seq = ?", [seq]))[0]?.hash as string;

/** Replaces all receipts in the database, which has no triggers any more. */
async function storeChain(chain: Receipt[]): Promise<void> {
  const { db } = service;
  const rows = chain.map(({ seq, hash, prevHash, bytes }) => [seq, hash, prevHash, Buffer.from(bytes)]);
  await db.rows("DELETE FROM receipts");
  await db.rows("INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES ?", [rows]);
  await db.rows("UPDATE ledger_head SET seq = ?, hash = ? WHERE id = 1", [chain.length, chain.at(-1)?.hash]);
}

describe("stoa verify of a good chain", () => {
  const home = scratchFolder();

  it("reports it in one line, as a process, and remembers the receipt in the home folder for its owner only", async () => {
    const head = await hashAt(12);
    expect(await startProcess(["verify", service.url], home).done).toEqual({
      status: 0,
      stdout: `verified receipts 1 to 12 of ${service.url}: head ${head}\n`,
      stderr: "",
    });
    const folder = join(home, ".local/state/stoa");
    const [file, ...more] = readdirSync(folder);
    expect(more).toEqual([]);
    const path = join(folder, file as string);
    expect(JSON.parse(readFileSync(path, "utf8"))).toMatchObject({ url: service.url, seq: 12, hash: head });
    expect(statSync(path).mode & 0o777).toBe(0o600);
    expect(statSync(folder).mode & 0o777).toBe(0o700);
  });

  it("reports it as one JSON object", async () => {
    const run = await runStoa(["verify", "--json", `${service.url}/`, "--from=3"], scratchFolder());
    expect(run).toMatchObject({ status: 0, stderr: "" });
    expect(run.stdout).toMatch(/^\{.*\}\n$/);
    expect(JSON.parse(run.stdout)).toEqual({
      ok: true,
      url: service.url,
      from: 3,
      to: 12,
      count: 10,
      head: await hashAt(12),
      broken_at: null,
      reason: null,
      remembered: null,
      log: null,
      duration_ms: expect.any(Number),
    });
  });

  it("continues after the receipt that was verified last", async () => {
    const own = scratchFolder();
    expect(await runStoa(["verify", service.url, "--from", "last"], own)).toMatchObject({
      status: 2,
      stdout: "",
      stderr: expect.stringContaining("nothing is remembered"),
    });
    await runStoa(["verify", service.url], own);
    const before = await hashAt(12);
    expect(await runStoa(["verify", service.url, "--from", "last"], own)).toEqual({
      status: 0,
      stdout: `there is no receipt after 12 of ${service.url} yet: head ${before}\n`,
      stderr: "",
    });
    await fill(service.db, 2);
    const { status, stdout } = await runStoa(["verify", service.url, "--from", "last", "--json"], own);
    expect(status).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({
      ok: true,
      from: 13,
      to: 14,
      count: 2,
      head: await hashAt(14),
      remembered: { seq: 12, hash: before },
    });
  });

  it("refuses to start beyond the end", async () => {
    const { status, stdout, stderr } = await runStoa(["verify", service.url, "--from", "500"], scratchFolder());
    expect({ status, stdout }).toEqual({ status: 2, stdout: "" });
    expect(stderr).toBe("stoa: --from 500: the chain ends at receipt 14; see stoa verify --help\n");
  });
});

describe("stoa verify of a chain that was changed in the database", () => {
  const chain = buildChain(8);
  const rewritten = buildChain(10, { 2: { document: (each) => Object.assign(each.evidence, { note: "another" }) } });
  beforeAll(() => unlockReceipts(service.db));
  beforeEach(() => storeChain(chain));

  const changed = "UPDATE receipts SET canonical = REPLACE(canonical, 'Verified', 'Accepted') WHERE seq = 5";

  it("names the receipt that was changed", async () => {
    await service.db.rows(changed);
    const { status, stdout } = await runStoa(["verify", service.url], scratchFolder());
    expect(status).toBe(1);
    expect(stdout).toMatch(/^receipt 5 does not verify: wrong_hash: the bytes hash to [0-9a-f]{64}; recorded is /);

    const json = await runStoa(["verify", service.url, "--json"], scratchFolder());
    expect(json).toMatchObject({ status: 1, stderr: "" });
    expect(JSON.parse(json.stdout)).toMatchObject({
      ok: false,
      from: 1,
      to: 5,
      count: 4,
      head: await hashAt(4),
      broken_at: 5,
      reason: expect.stringMatching(/^wrong_hash: the bytes /),
    });
  });

  it.each([
    [4, "gap"],
    [8, "truncated"],
  ])("names receipt %i if it was removed: %s", async (seq, fault) => {
    await service.db.rows(`DELETE FROM receipts WHERE seq = ${seq}`);
    const { status, stdout } = await runStoa(["verify", service.url], scratchFolder());
    expect([status, stdout]).toEqual([
      1,
      `receipt ${seq} does not verify: ${fault}: receipt ${seq} is missing, and the chain's head is 8\n`,
    ]);
  });

  describe("since it was verified", () => {
    const head = chain[7]?.hash;
    const gone = new RegExp(
      `^history has changed since ${/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/.source}: receipt 8 was ${head}, is now (.*)\n$`,
    );
    let home: string;
    beforeEach(async () => {
      home = scratchFolder();
      expect((await runStoa(["verify", service.url], home)).status).toBe(0);
    });

    it.each<[what: string, chain: Receipt[], now: string]>([
      ["that the tail was removed", chain.slice(0, 6), "gone: the chain ends at 6"],
      ["that the whole chain was rewritten with correct hashes and has grown", rewritten, rewritten[7]?.hash ?? ""],
    ])("finds %s", async (_, stored, now) => {
      await storeChain(stored);
      expect((await runStoa(["verify", service.url], scratchFolder())).status).toBe(0);
      for (const more of [[], ["--from", "last"], ["--from", "3"], ["--follow"]]) {
        const { status, stdout } = await runStoa(["verify", service.url, ...more], home);
        expect([status, gone.exec(stdout)?.[1]]).toEqual([1, now]);
      }
      // The state stays, so that a second run reports the same.
      const json = JSON.parse((await runStoa(["verify", service.url, "--json"], home)).stdout);
      expect(json).toMatchObject({ ok: false, broken_at: 8, remembered: { seq: 8, hash: head } });
      expect(json.reason).toMatch(/^history_changed: receipt 8 was /);
    });
  });
});

describe("stoa verify exits with 3 and gives no verdict", () => {
  const notChecked = (url: string) => ({
    status: 3,
    stdout: "",
    stderr: expect.stringMatching(new RegExp(`^stoa: ${url} could not be verified: .*\n$`)),
  });

  it("when nobody listens", async () => {
    const { url, close } = await listenHttp(() => {});
    await close();
    for (const more of [[], ["--follow"]]) {
      const run = await runStoa(["verify", url, ...more], scratchFolder());
      expect(run).toEqual(notChecked(url));
      expect(run.stderr).toContain("unreachable: the connection failed: ECONNREFUSED");
    }
    const json = await runStoa(["verify", url, "--json"], scratchFolder());
    expect(json).toMatchObject({ status: 3, stderr: "" });
    expect(JSON.parse(json.stdout)).toEqual({
      ok: null,
      url,
      from: 1,
      to: 0,
      count: 0,
      head: null,
      broken_at: null,
      reason: "unreachable: the connection failed: ECONNREFUSED",
      remembered: null,
      log: null,
      duration_ms: expect.any(Number),
    });
  });

  it.each([
    // test/client/read-receipts.test.ts has other answers.
    [200, "<html>welcome</html>", "unusable: the answer is not a JSON object"],
    [404, '{"ok":false,"error":"not_found","message":"None.","field":"from"}', "unusable: the chain is empty"],
  ])("when the answer is %i %s", async (status, body, reason) => {
    const fake = await startFake([]);
    fake.intercept = (_, response) => !!response.writeHead(status).end(body);
    const run = await runStoa(["verify", fake.url], scratchFolder());
    expect(run).toEqual(notChecked(fake.url));
    expect(run.stderr).toContain(reason);
  });

  it("when the stream breaks off, after what was good so far", async () => {
    const fake = await startFake(shownChain(5));
    const lines = fake.receipts.slice(0, 3).map((receipt) => `${JSON.stringify(receipt)}\n`);
    answerStream(fake, ...lines, '{"seq":');
    const run = await runStoa(["verify", fake.url], scratchFolder());
    expect(run).toEqual(notChecked(fake.url));
    expect(run.stderr).toContain("unreachable: the stream was cut off within a line");
    expect(run.stderr).toContain("receipts 1 to 3 were good so far");
    const { stdout } = await runStoa(["verify", fake.url, "--json"], scratchFolder());
    expect(JSON.parse(stdout)).toMatchObject({ ok: null, to: 3, count: 3, broken_at: null });
  });
});
