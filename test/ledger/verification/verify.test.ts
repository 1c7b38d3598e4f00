import { createHash } from "node:crypto";
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { fill, type StoredRow, startLedger, unlockReceipts, verifyLedger, zeros } from "../support.ts";

const length = 12;

const service = await startLedger();
const { db } = service;
await fill(db, length - 1);
const rows = await db.rows<StoredRow>("SELECT seq, hash, prev_hash, canonical FROM receipts ORDER BY seq");

const hashOf = (seq: number) => (seq === 0 ? zeros : (rows[seq - 1] as StoredRow).hash);

async function verify(from?: number) {
  return (await service.rest(`/house/verify${from === undefined ? "" : `?from=${from}`}`)).body;
}

describe("a good chain", () => {
  it.each([
    [undefined, 1],
    [0, 1],
    [7, 7],
    [length, length],
  ])("verifies from %s", async (from, start) => {
    expect(await verify(from)).toEqual({
      ok: true,
      verify_ok: true,
      from: start,
      to: length,
      count: length - start + 1,
      head: hashOf(length),
      broken_at: null,
      reason: null,
      duration_ms: expect.any(Number),
      age_seconds: 0,
    });
  });

  it.each([
    ["13", 404, "not_found"],
    ["9007199254740992", 400, "bad_input"],
    ["-1", 400, "bad_input"],
  ])("has no from=%s", async (from, status, error) => {
    const reply = await service.rest(`/house/verify?from=${from}`);
    expect([reply.status, reply.body]).toEqual([
      status,
      { ok: false, error, field: "from", message: expect.any(String) },
    ]);
  });
});

describe("the database", () => {
  it.each([
    "UPDATE receipts SET hash = REPEAT('0', 64) WHERE seq = 3",
    "DELETE FROM receipts WHERE seq = 3",
    "REPLACE INTO receipts SELECT seq, hash, prev_hash, 'x' FROM receipts WHERE seq = 3",
    "INSERT INTO receipts SELECT seq, hash, prev_hash, canonical FROM receipts WHERE seq = 3 ON DUPLICATE KEY UPDATE canonical = 'x'",
  ])("refuses: %s", async (statement) => {
    await expect(db.rows(statement)).rejects.toThrow("receipts are append-only");
    await verifyLedger(db);
  });

  it("refuses a second receipt after the same one", async () => {
    const fork = "INSERT INTO receipts SELECT 99, REPEAT('9', 64), prev_hash, canonical FROM receipts WHERE seq = 3";
    await expect(db.rows(fork)).rejects.toThrow(/Duplicate entry/);
  });
});

describe("damage to the stored rows", () => {
  beforeAll(() => unlockReceipts(db));
  /** Restores every row. */
  beforeEach(async () => {
    await db.rows("DELETE FROM receipts");
    for (const { seq, hash, prev_hash, canonical } of rows) {
      await db.rows("INSERT INTO receipts VALUES (?, ?, ?, ?)", [seq, hash, prev_hash, canonical]);
    }
    await db.rows("UPDATE ledger_head SET seq = ?, hash = ?", [length, hashOf(length)]);
    await verifyLedger(db);
  });

  async function setCanonical(seq: number, canonical: Buffer, hash = hashOf(seq)): Promise<void> {
    await db.rows("UPDATE receipts SET canonical = ?, hash = ? WHERE seq = ?", [canonical, hash, seq]);
  }

  it("is found at the next receipt if the hash was changed too", async () => {
    const { canonical } = rows[4] as StoredRow;
    const forged = Buffer.from(canonical.toString("utf8").replace('"filler"', '"forger"'));
    await setCanonical(5, forged, createHash("sha256").update(forged).digest("hex"));
    expect(await verify()).toMatchObject({
      verify_ok: false,
      broken_at: 6,
      count: 5,
      reason: expect.stringMatching(/^wrong_prev_hash/),
    });
    // From 6 on, the hash of the receipt before is the recorded one, but receipt 6 names another.
    expect(await verify(6)).toMatchObject({ verify_ok: false, broken_at: 6 });
    expect(await verify(7)).toMatchObject({ verify_ok: true, from: 7, count: 6 });
  });

  it.each<[string, string[], number, string, number?]>([
    ["a changed hash", ["UPDATE receipts SET hash = REPEAT('a', 64) WHERE seq = 5"], 5, "wrong_hash"],
    ["a first row that is gone", ["DELETE FROM receipts WHERE seq = 1"], 1, "gap"],
    ["a tail that is gone", ["DELETE FROM receipts WHERE seq > 8"], 9, "truncated"],
    [
      "a row beyond the head",
      ["INSERT INTO receipts SELECT 13, REPEAT('a', 64), REPEAT('b', 64), canonical FROM receipts WHERE seq = 12"],
      13,
      "wrong_hash",
    ],
    ["a head that was moved back", ["UPDATE ledger_head SET seq = 8"], 9, "beyond_head", length],
    ["a head that was moved on", ["UPDATE ledger_head SET seq = 20"], 13, "truncated"],
    ["a head of another hash", ["UPDATE ledger_head SET hash = REPEAT('a', 64)"], 12, "wrong_hash", length],
  ])("is found: %s", async (_, statements, seq, fault, good = seq - 1) => {
    for (const statement of statements) await db.rows(statement);
    const logged = service.log.length;
    const report = await verify(0);
    expect(report).toMatchObject({
      ok: true,
      verify_ok: false,
      broken_at: seq,
      reason: expect.stringMatching(`^(${fault}): `),
    });
    expect([report.count, report.head]).toEqual([good, hashOf(good)]);
    // The head guard may have logged an error of its own, which names no seq.
    const alarm = service.log.slice(logged).find((line) => line.level === 50 && "seq" in line);
    expect(alarm).toMatchObject({ seq });
    expect((await service.rest("/readyz")).body).toEqual({
      ok: true,
      warning: expect.stringContaining(`receipt ${seq},`),
    });
    expect((await service.rest("/readyz")).status).toBe(200);
  });

  it("is ignored by a verification that begins later, except in the receipt just before", async () => {
    await db.rows("UPDATE receipts SET hash = REPEAT('a', 64) WHERE seq = 5");
    expect(await verify(6)).toMatchObject({ verify_ok: false, broken_at: 5, from: 6, count: 0 });
    expect(await verify(7)).toMatchObject({ verify_ok: true, from: 7, count: 6, broken_at: null });
    expect(await verify(length)).toMatchObject({ verify_ok: true, count: 1 });
  });
});
