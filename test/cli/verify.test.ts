import { beforeAll, describe, expect, it } from "vitest";
import { fill, type LedgerUnderTest, startLedger, unlockReceipts } from "../ledger/support.ts";
import { buildChain, sha256 } from "../receipt/chain.ts";
import { runStoa, scratchFolder } from "./stoa.ts";

const hashAt = async (service: LedgerUnderTest, seq: number) =>
  (await service.db.rows<{ hash: string }>("SELECT hash FROM receipts WHERE seq = ?", [seq]))[0]?.hash as string;

describe("stoa verify of a good chain", () => {
  const home = scratchFolder();
  let service: LedgerUnderTest;

  beforeAll(async () => {
    service = await startLedger();
    await fill(service.db, 11);
  });

  it("reports it in one line", async () => {
    const head = await hashAt(service, 12);
    expect(await runStoa(["verify", service.url], home)).toEqual({
      status: 0,
      stdout: `verified receipts 1 to 12 of ${service.url}: head ${head}\n`,
      stderr: "",
    });
  });

  it("accepts an address that ends with a slash, and options after it", async () => {
    const { status, stdout } = await runStoa(["verify", `${service.url}/`, "--from", "5"], home);
    expect(status).toBe(0);
    expect(stdout).toMatch(`verified receipts 5 to 12 of ${service.url}: head `);
  });

  it("reports it as one JSON object", async () => {
    const run = await runStoa(["verify", "--json", "--from=3", service.url], scratchFolder());
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
  async function damaged(...statements: string[]): Promise<LedgerUnderTest> {
    const service = await startLedger();
    await fill(service.db, 7);
    await unlockReceipts(service.db);
    for (const statement of statements) await service.db.rows(statement);
    return service;
  }

  it("names the receipt that was changed", async () => {
    const service = await damaged(
      "UPDATE receipts SET canonical = REPLACE(canonical, 'feed:fill', 'feed:full') WHERE seq = 5",
    );
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

  it("names the next receipt if the hash was changed as well", async () => {
    const service = await damaged(
      "UPDATE receipts SET canonical = REPLACE(canonical, 'feed:fill', 'feed:full') WHERE seq = 5",
      "UPDATE receipts SET hash = SHA2(canonical, 256) WHERE seq = 5",
    );
    const { status, stdout } = await runStoa(["verify", service.url], scratchFolder());
    expect(status).toBe(1);
    expect(stdout).toMatch(/^receipt 6 does not verify: wrong_prev_hash: /);
  });

  it.each([
    [4, "gap"],
    [8, "truncated"],
  ])("names receipt %i if it was removed: %s", async (seq, fault) => {
    const service = await damaged(`DELETE FROM receipts WHERE seq = ${seq}`);
    const { status, stdout } = await runStoa(["verify", service.url], scratchFolder());
    expect(stdout).toBe(
      `receipt ${seq} does not verify: ${fault}: receipt ${seq} is missing, and the chain's head is 8\n`,
    );
    expect(status).toBe(1);
  });

  it("hashes the receipt before the first one", async () => {
    const service = await damaged(
      "UPDATE receipts SET canonical = REPLACE(canonical, 'feed:fill', 'feed:full') WHERE seq = 5",
    );
    const { status, stdout } = await runStoa(["verify", service.url, "--from", "6"], scratchFolder());
    expect(status).toBe(1);
    expect(stdout).toMatch(/^receipt 6 does not verify: wrong_prev_hash: /);
    expect((await runStoa(["verify", service.url, "--from", "7"], scratchFolder())).status).toBe(0);
  });
});

describe("stoa verify with a remembered receipt", () => {
  const lastTime = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/.source;

  /** A service whose 8 receipts were verified and are remembered in `home`. */
  async function verified(): Promise<{ service: LedgerUnderTest; home: string; head: string }> {
    const service = await startLedger();
    await fill(service.db, 7);
    const home = scratchFolder();
    expect((await runStoa(["verify", service.url], home)).status).toBe(0);
    await unlockReceipts(service.db);
    return { service, home, head: await hashAt(service, 8) };
  }

  it("finds that the tail was removed", async () => {
    const { service, home, head } = await verified();
    await service.db.rows("DELETE FROM receipts WHERE seq > 6");
    await service.db.rows("UPDATE ledger_head SET seq = 6, hash = ? WHERE id = 1", [await hashAt(service, 6)]);
    expect((await runStoa(["verify", service.url], scratchFolder())).status).toBe(0);

    for (const more of [[], ["--from", "last"], ["--from", "3"], ["--follow"]]) {
      const { status, stdout } = await runStoa(["verify", service.url, ...more], home);
      expect(stdout).toMatch(
        new RegExp(
          `^history has changed since ${lastTime}: receipt 8 was ${head}, is now gone: the chain ends at 6\n$`,
        ),
      );
      expect(status).toBe(1);
    }
    // The state stays, so that a second run reports the same.
    const json = JSON.parse((await runStoa(["verify", service.url, "--json"], home)).stdout);
    expect(json).toMatchObject({ ok: false, broken_at: 8, remembered: { seq: 8, hash: head } });
    expect(json.reason).toMatch(/^history_changed: receipt 8 was /);
  });

  it("finds that the whole chain was rewritten with correct hashes and has grown", async () => {
    const { service, home, head } = await verified();
    const chain = buildChain(10);
    await service.db.rows("DELETE FROM receipts");
    for (const { seq, hash, prevHash, bytes } of chain) {
      const row = [seq, hash, prevHash, Buffer.from(bytes)];
      await service.db.rows("INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES (?, ?, ?, ?)", row);
    }
    await service.db.rows("UPDATE ledger_head SET seq = 10, hash = ? WHERE id = 1", [chain[9]?.hash]);
    expect((await runStoa(["verify", service.url], scratchFolder())).status).toBe(0);

    const now = chain[7]?.hash;
    for (const more of [[], ["--from", "last"], ["--from", "3"], ["--from", "10"], ["--follow"]]) {
      const { status, stdout } = await runStoa(["verify", service.url, ...more], home);
      expect(stdout).toMatch(
        new RegExp(`^history has changed since ${lastTime}: receipt 8 was ${head}, is now ${now}\n$`),
      );
      expect(status).toBe(1);
    }
  });
});

it("stoa verify reads some thousands of receipts", async () => {
  const service = await startLedger();
  await unlockReceipts(service.db);
  const chain = buildChain(5000, { 3000: { document: (each) => Object.assign(each.evidence, { note: "🏛\u2028é" }) } });
  await service.db.rows("DELETE FROM receipts");
  for (let from = 0; from < chain.length; from += 1000) {
    const rows = chain
      .slice(from, from + 1000)
      .map((each) => [each.seq, each.hash, each.prevHash, Buffer.from(each.bytes)]);
    await service.db.rows("INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES ?", [rows]);
  }
  const last = chain.at(-1);
  await service.db.rows("UPDATE ledger_head SET seq = 5000, hash = ? WHERE id = 1", [last?.hash]);
  const { status, stdout } = await runStoa(["verify", service.url, "--json"], scratchFolder());
  expect(status).toBe(0);
  expect(JSON.parse(stdout)).toMatchObject({
    ok: true,
    to: 5000,
    count: 5000,
    head: sha256(last?.bytes as Uint8Array),
  });
});
