// What fsck finds in the tables of the ledger, and what it repairs.
import { describe, expect, it } from "vitest";
import { checkLedger } from "../../../src/ledger/fsck/ledger-check.ts";
import { HeadFolder } from "../../../src/ledger/head-guard/head-folder.ts";
import { LedgerRecovery } from "../../../src/ledger/head-guard/recovery.ts";
import { append } from "../../../src/ledger/sealing/append.ts";
import { sealSession } from "../../../src/ledger/sealing/session.ts";
import { describeFinding } from "../../../src/store/recount/finding.ts";
import { lockHead } from "../../../src/store/tables/receipts.ts";
import { insertRecovery } from "../../../src/store/tables/recoveries.ts";
import { openStore } from "../../support/database.ts";
import { scratchFolder } from "../../support/scratch-folder.ts";
import { fill, openLedger, startLedger, TestClock, unlockReceipts, verifyLedger, zeros } from "../support.ts";

const never = new AbortController().signal;
const clock = new TestClock("2026-01-05T10:00:00Z");
const service = await startLedger({ clock, config: { ledgerEpoch: "2026-01-03" } });
const db = openStore(service.db, 4);
await service.seal({ book: "Ledger \n of \u009b things" }); // 2
// Its daily sealing would seal the days again that these tests remove.
await service.app.close();
const { ledger } = await openLedger(service.db, () => Date.parse("2026-01-07T10:00:00Z"));
await ledger.days.seal(never, "2026-01-05", () => undefined); // 3
await ledger.days.seal(never, "2026-01-06", () => undefined); // 4
const actor = { agent: "desk", seat: "one" };
const session = { book: "last", session: "2026-01-06", note: "a note", source: "feed:test", evidence: {}, actor };
await ledger.sealer.write(never, (sealing) => sealSession(sealing, session)); // 5
await unlockReceipts(service.db);

async function lines(repair = false): Promise<string[]> {
  const found: string[] = [];
  for await (const { finding, repaired } of checkLedger(db.longReader(never), never, repair ? db : undefined)) {
    found.push(`${describeFinding(finding)}${repaired ? "; repaired" : ""}`);
  }
  return found;
}

const book = '"Ledger \\n of \\u009b things"';

describe("what follows from receipts is found and repaired", () => {
  it.each([
    ["DELETE FROM ledger_days WHERE date = '2026-01-05'", "ledger_days date 2026-01-05: receipt 3 is not noted"],
    [
      "UPDATE ledger_days SET seq = 4 WHERE date = '2026-01-05'",
      "ledger_days.seq date 2026-01-05: stored 4, counted 3",
    ],
    ["INSERT INTO ledger_days VALUES ('2026-01-09', 9)", "ledger_days date 2026-01-09: receipt 9 does not seal it"],
    [
      "DELETE FROM ledger_sessions WHERE seq = 2",
      `ledger_sessions book ${book} session 2026-01-05: receipt 2 is not noted`,
    ],
    [
      "UPDATE ledger_sessions SET seq = 3 WHERE seq = 5",
      "ledger_sessions.seq book last session 2026-01-06: stored 3, counted 5",
    ],
    [
      "INSERT INTO ledger_sessions VALUES ('lost', '2026-01-05', 5)",
      "ledger_sessions book lost session 2026-01-05: receipt 5 does not seal it",
    ],
    ["UPDATE ledger_head SET ts = 0", `ledger_head.ts id 1: stored 0, counted ${Date.parse("2026-01-07T10:00:00Z")}`],
    ["UPDATE ledger_epoch SET epoch = '2026-01-01'", "ledger_epoch.epoch id 1: stored 2026-01-01, counted 2026-01-03"],
    [
      "UPDATE ledger_epoch SET first_day = '2026-01-01'",
      "ledger_epoch.first_day id 1: stored 2026-01-01, counted 2026-01-05",
    ],
    ["DELETE FROM ledger_epoch", "ledger_epoch id 1: the row is missing"],
    ["INSERT INTO ledger_recoveries VALUES (3)", "ledger_recoveries seq 3: receipt 3 is no recovery"],
    ["INSERT INTO ledger_clock_words VALUES (9, 1, 1)", "ledger_clock_words seq 9: there is no receipt 9"],
    [
      "INSERT INTO ledger_clock_words VALUES (3, 1, 1)",
      `ledger_clock_words.ts seq 3: stored 1, counted ${Date.parse("2026-01-07T10:00:00Z")}`,
    ],
    [
      `REPLACE INTO ledger_verification VALUES (1, 9, '${zeros}', 5, 0, NULL, NULL, NULL, NULL)`,
      "ledger_verification.verified_seq id 1: there is no receipt 9",
    ],
    [
      `REPLACE INTO ledger_verification SELECT 1, 2, hash, 5, 0, NULL, NULL, NULL, NULL FROM receipts WHERE seq = 3`,
      /^ledger_verification.verified_hash id 1: stored \w{64}, but receipt 2 has the hash \w{64}$/,
    ],
    [
      "REPLACE INTO ledger_verification VALUES (1, 0, 'no hash', 5, 0, NULL, NULL, NULL, NULL)",
      `ledger_verification.verified_hash id 1: stored "no hash", counted ${zeros}`,
    ],
    [
      `REPLACE INTO ledger_verification VALUES (1, 0, '${zeros}', 0, 3, 2, 'wrong_hash', 'It was bad.', 5)`,
      "ledger_verification.alarm_seq id 1: the alarm names receipt 2, but the whole chain verifies",
    ],
    [
      `REPLACE INTO ledger_verification VALUES (1, 0, '${zeros}', 0, 3, NULL, 'wrong_hash', NULL, NULL)`,
      "ledger_verification.alarm_seq id 1: a part of an alarm is stored, without its receipt",
    ],
  ])("%s", async (damage, expected) => {
    await service.db.rows(damage);
    const found = await lines();
    expect(found).toEqual([typeof expected === "string" ? expected : expect.stringMatching(expected)]);
    expect(await lines(true)).toEqual([`${found[0]}; repaired`]);
    expect(await lines()).toEqual([]);
    await verifyLedger(service.db);
  });
});

it("an index table with many rows is checked in parts", async () => {
  const sessions = Array.from({ length: 120 }, (_, index) => [`book ${index >> 1}`, `2026-02-0${(index % 2) + 1}`, 1]);
  await service.db.pool.query("INSERT INTO ledger_sessions (book, session, seq) VALUES ?", [sessions]);
  expect(await lines(true)).toHaveLength(120);
  expect(await lines()).toEqual([]);
});

describe("a defect of the schema is reported, and the rest is checked", () => {
  const wrongDay = "ledger_days date 2026-01-09: receipt 2 does not seal it";
  it.each([
    ["ledger_verification", [`${wrongDay}; repaired`, "ledger_verification: not checked: Table"]],
    ["ledger_sessions", [`${wrongDay}; repaired`, "ledger_sessions: not checked: Table"]],
    // Nothing can be locked, so nothing is repaired.
    ["ledger_head", [wrongDay, "ledger_head: not checked: Table"]],
    [
      "receipts",
      ["receipts", "ledger_head", "ledger_epoch", "ledger_days"].map((each) => `${each}: not checked: Table`),
    ],
  ])("without %s", async (table, expected) => {
    await service.db.rows("INSERT INTO ledger_days VALUES ('2026-01-09', 2)");
    await service.db.rows(`RENAME TABLE ${table} TO away`);
    const found = await lines(true);
    await service.db.rows(`RENAME TABLE away TO ${table}`);
    await service.db.rows("DELETE FROM ledger_days WHERE date = '2026-01-09'");
    for (const [index, line] of expected.entries()) expect(found[index]).toMatch(new RegExp(`^${line}`));
    if (table !== "receipts") expect(found).toHaveLength(2);
    expect(await lines()).toEqual([]);
  });

  it("without a column", async () => {
    await service.db.rows("ALTER TABLE ledger_days RENAME COLUMN seq TO number");
    expect(await lines(true)).toEqual([expect.stringMatching(/^ledger_days: not checked: Unknown column 'seq'/)]);
    await service.db.rows("ALTER TABLE ledger_days RENAME COLUMN number TO seq");
  });
});

it("an alarm stays while the chain does not verify", async () => {
  await service.db.rows(
    `REPLACE INTO ledger_verification VALUES (1, 0, '${zeros}', 0, 3, 2, 'wrong_hash', 'It is bad.', 5)`,
  );
  const [head] = await service.db.rows<{ hash: string }>("SELECT hash FROM ledger_head");
  await service.db.rows(`UPDATE ledger_head SET hash = '${zeros}'`);
  expect(await lines(true)).toEqual([expect.stringContaining("ledger_head id 1: wrong_hash:")]);
  await service.db.rows("UPDATE ledger_head SET hash = ?", [head?.hash]);
  expect(await service.db.rows("SELECT alarm_seq FROM ledger_verification")).toEqual([{ alarm_seq: 2 }]);
  await service.db.rows("DELETE FROM ledger_verification");
  expect(await lines()).toEqual([]);
});

describe("damage that only a backup can repair is reported, and nothing is repaired", () => {
  it.each([
    ["canonical = REPLACE(canonical, 'a note', 'a lie!')", 2, ["receipts seq 2: wrong_hash: the bytes hash to"]],
    ["hash = REPEAT('a', 64)", 3, ["receipts seq 3: wrong_hash:", "receipts seq 4: wrong_prev_hash:"]],
    [
      "seq = 9",
      5,
      ["receipts seq 5: gap: receipt 9 comes", "receipts seq 9: repeat:", "ledger_head id 1: beyond_head:"],
    ],
  ])("%s of receipt %i", async (change, seq, expected) => {
    const [before] = await service.db.rows<Record<string, unknown>>("SELECT * FROM receipts WHERE seq = ?", [seq]);
    const [head] = await service.db.rows<Record<string, unknown>>("SELECT * FROM ledger_head");
    await service.db.rows(`UPDATE receipts SET ${change} WHERE seq = ?`, [seq]);
    await service.db.rows("INSERT INTO ledger_days VALUES ('2026-01-09', 2)");
    const found = await lines(true);
    await service.db.rows("DELETE FROM receipts WHERE seq IN (?, 9)", [seq]);
    await service.db.pool.query("INSERT INTO receipts SET ?", [before]);
    await service.db.rows("DELETE FROM ledger_days WHERE date = '2026-01-09'");
    expect(found).toContainEqual("ledger_days date 2026-01-09: receipt 2 does not seal it");
    for (const line of expected) expect(found).toContainEqual(expect.stringContaining(line));
    expect(found.filter((line) => line.endsWith("repaired"))).toEqual([]);
    expect(await service.db.rows("SELECT * FROM ledger_head")).toEqual([head]);
    expect(await lines()).toEqual([]);
  });

  it.each([
    ["UPDATE ledger_head SET seq = 4", "ledger_head id 1: beyond_head: there are receipts up to 5; the head is 4"],
    ["UPDATE ledger_head SET seq = 8", "ledger_head id 1: truncated: the chain ends at 5; its head is 8"],
    [`UPDATE ledger_head SET hash = '${zeros}'`, "ledger_head id 1: wrong_hash:"],
    ["DELETE FROM ledger_head", "ledger_head id 1: the row is missing"],
  ])("%s", async (damage, line) => {
    const [head] = await service.db.rows<Record<string, unknown>>("SELECT * FROM ledger_head");
    await service.db.rows(damage);
    expect(await lines(true)).toEqual([expect.stringContaining(line)]);
    await service.db.rows("DELETE FROM ledger_head");
    await service.db.pool.query("INSERT INTO ledger_head SET ?", [head]);
    expect(await lines()).toEqual([]);
  });
});

it("a missing index row of a recovery is found and restored", async () => {
  const folder = new HeadFolder(scratchFolder(), "private");
  const recovery = new LedgerRecovery({ db, folder, now: Date.now, warn: () => {} });
  const abandoned = { seq: 7, hash: "a".repeat(64) };
  expect((await recovery.seal(never, { abandoned, note: "A verifier has it." })).seq).toBe(6);
  expect(await lines()).toEqual([]);
  await service.db.rows("DELETE FROM ledger_recoveries");
  expect(await lines(true)).toEqual(["ledger_recoveries seq 6: receipt 6 is not noted; repaired"]);
  expect(await service.db.rows("SELECT seq FROM ledger_recoveries")).toEqual([{ seq: 6 }]);
  expect(await lines()).toEqual([]);
});

it("there is no finding while sessions are being sealed", async () => {
  let looking = true;
  const filling = (async () => {
    while (looking) await fill(service.db, 100);
  })();
  for (let look = 0; look < 2; look++) expect(await lines()).toEqual([]);
  looking = false;
  await filling;
  expect(await lines()).toEqual([]);
});

it("a recovery that abandons an older receipt of the chain is found", async () => {
  const [second] = await service.db.rows<{ hash: string }>("SELECT hash FROM receipts WHERE seq = 2");
  const abandoned = { abandoned_seq: 2, abandoned_hash: second?.hash as string };
  const seq = await db.transaction(never, async (tx) => {
    const receipt = await append({ tx, now: 0, epoch: "2026-01-03", blockReason: undefined }, await lockHead(tx), {
      book: null,
      actor: { agent: "operator", seat: "recover" },
      evidence: {},
      body: (relation) => ({ type: "recovery", ...relation, ...abandoned, note: "" }),
    });
    await insertRecovery(tx, receipt.seq);
    return receipt.seq;
  });
  expect(await lines()).toEqual([expect.stringContaining(`receipts seq ${seq}: wrong_recovery: `)]);
});
