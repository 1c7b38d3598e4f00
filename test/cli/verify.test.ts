import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { fill, type LedgerUnderTest, startLedger, unlockReceipts } from "../ledger/support.ts";
import { buildChain, type Receipt } from "../receipt/chain.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { runStoa, startProcess } from "./stoa.ts";

const hashAt = async (service: LedgerUnderTest, seq: number) =>
  (await service.db.rows<{ hash: string }>("SELECT hash FROM receipts WHERE seq = ?", [seq]))[0]?.hash as string;

/** Replaces all receipts in the database, which has no triggers any more. */
async function storeChain({ db }: LedgerUnderTest, chain: Receipt[]): Promise<void> {
  const rows = chain.map(({ seq, hash, prevHash, bytes }) => [seq, hash, prevHash, Buffer.from(bytes)]);
  await db.rows("DELETE FROM receipts");
  await db.rows("INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES ?", [rows]);
  await db.rows("UPDATE ledger_head SET seq = ?, hash = ? WHERE id = 1", [chain.length, chain.at(-1)?.hash]);
}

describe("stoa verify of a good chain", () => {
  const home = scratchFolder();
  let service: LedgerUnderTest;

  beforeAll(async () => {
    service = await startLedger();
    await fill(service.db, 11);
  });

  it("reports it in one line, as a process, and remembers the receipt in the home folder for its owner only", async () => {
    const head = await hashAt(service, 12);
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
      head: await hashAt(service, 12),
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
    const before = await hashAt(service, 12);
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
      head: await hashAt(service, 14),
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
  let service: LedgerUnderTest;
  beforeAll(async () => {
    service = await startLedger();
    await unlockReceipts(service.db);
  });
  beforeEach(() => storeChain(service, chain));

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
      head: await hashAt(service, 4),
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
      await storeChain(service, stored);
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
