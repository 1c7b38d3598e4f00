// The alarm is stored in the database, so that every replica knows it, also after a restart.
import { pino } from "pino";
import { describe, expect, it } from "vitest";
import type { Overrides } from "../../../src/app/overrides.ts";
import { Alarm } from "../../../src/ledger/verification/alarm.ts";
import { chainStart } from "../../../src/receipt/verify.ts";
import { Database } from "../../../src/store/database/database.ts";
import { waitUntil } from "../../support/wait.ts";
import { fill, type LedgerUnderTest, startLedger, unlockReceipts } from "../support.ts";

const never = new AbortController().signal;
const verify = async (target: LedgerUnderTest, from = 0) => (await target.rest(`/house/verify?from=${from}`)).body;
const warning = async (target: LedgerUnderTest) => (await target.rest("/readyz")).body.warning;
const verifiedSeq = async ({ db }: LedgerUnderTest) =>
  (await db.rows<{ seq: number }>("SELECT verified_seq AS seq FROM ledger_verification"))[0]?.seq;

const refuseUpdates =
  "CREATE TRIGGER refuse BEFORE UPDATE ON ledger_verification FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'";

async function startFilled(count: number, overrides: Overrides = {}): Promise<LedgerUnderTest> {
  const target = await startLedger({ overrides });
  await fill(target.db, count);
  return target;
}

/** Changes a receipt. @returns a function that restores it */
async function damage({ db }: LedgerUnderTest, seq: number): Promise<() => Promise<unknown>> {
  await unlockReceipts(db);
  const [row] = await db.rows<{ hash: string }>("SELECT hash FROM receipts WHERE seq = ?", [seq]);
  await db.rows("UPDATE receipts SET hash = REPEAT('a', 64) WHERE seq = ?", [seq]);
  return async () => {
    // Each start creates the triggers again.
    await unlockReceipts(db);
    await db.rows("UPDATE receipts SET hash = ? WHERE seq = ?", [row?.hash, seq]);
  };
}

describe("the alarm", () => {
  it("is known to every replica and after a restart, until the whole chain has verified", async () => {
    const first = await startFilled(6);
    const second = await startLedger({ db: first.db });
    const mend = await damage(first, 4);
    expect((await verify(first)).verify_ok).toBe(false);
    for (const replica of [first, second]) expect(await warning(replica)).toMatch(/receipt 4, wrong_hash: /);
    expect(second.log).toContainEqual(expect.objectContaining({ level: 50, seq: 4, fault: "wrong_hash" }));

    const third = await startLedger({ db: first.db });
    await mend();
    expect(third.log).toContainEqual(expect.objectContaining({ level: 50, seq: 4, fault: "wrong_hash" }));
    expect((await verify(third, 5)).verify_ok).toBe(true);
    for (const replica of [first, second, third]) expect(await warning(replica)).toContain("receipt 4");
    expect((await verify(second)).verify_ok).toBe(true);
    for (const replica of [first, second, third]) expect(await warning(replica)).toBeUndefined();
    expect(third.log.map(({ msg }) => msg)).toContain("the ledger verifies again");
  });

  it("names the first receipt that any verification has found", async () => {
    const target = await startFilled(6);
    await damage(target, 3);
    await damage(target, 6);
    await verify(target, 5);
    expect(await warning(target)).toContain("receipt 6");
    await verify(target);
    expect(await warning(target)).toContain("receipt 3");
    await verify(target, 5);
    expect(await warning(target)).toContain("receipt 3");
  });

  it("is raised although it cannot be stored, and is stored when that is possible again", async () => {
    const target = await startFilled(3, { databaseLookMs: 20 });
    await verify(target);
    await damage(target, 2);
    await target.db.rows(refuseUpdates);
    expect((await verify(target)).broken_at).toBe(2);
    expect(await warning(target)).toContain("receipt 2");
    const replica = await startLedger({ db: target.db });
    expect(await warning(replica)).toBeUndefined();
    await target.db.rows("DROP TRIGGER refuse");
    await waitUntil("the alarm to be stored", async () => (await warning(replica))?.includes("receipt 2") ?? false);
    expect(await warning(target)).toContain("receipt 2");
  });

  it("does not make readiness checks wait for a lock if it could not be stored", async () => {
    // No background check tries to store it meanwhile.
    const target = await startFilled(3, { databaseLookMs: 3_600_000 });
    await damage(target, 2);
    await target.db.rows(refuseUpdates);
    expect((await verify(target)).broken_at).toBe(2);
    const holder = await target.db.pool.getConnection();
    try {
      await holder.query("START TRANSACTION");
      await holder.query("SELECT 1 FROM ledger_verification FOR UPDATE");
      expect(await target.rest("/readyz")).toMatchObject({
        status: 200,
        body: { warning: expect.stringContaining("receipt 2") },
      });
    } finally {
      await holder.query("ROLLBACK");
      holder.release();
    }
  });

  it("reaches a replica without readiness checks", async () => {
    const target = await startFilled(3);
    const replica = await startLedger({ db: target.db, overrides: { databaseLookMs: 20 } });
    await damage(target, 2);
    await verify(target);
    await waitUntil("the log", () => replica.log.some(({ level, seq }) => level === 50 && seq === 2));
  });

  it("is not cleared by a good verification that began before it was raised", async () => {
    const { db } = await startFilled(3);
    const database = new Database({ address: db.config, connections: 2 });
    try {
      const reader = database.reader(never);
      const [slow, quick] = [1, 2].map(() => new Alarm(database, () => 1_000, pino({ level: "silent" })));
      const prior = await (slow as Alarm).refresh(reader);
      const finding = { seq: 2, fault: "wrong_hash" as const, message: "it was changed" };
      const isWhole = true;
      await (quick as Alarm).record({
        finding,
        link: chainStart,
        isWhole,
        prior: await (quick as Alarm).refresh(reader),
      });
      const good = { finding: undefined, link: { seq: 4, hash: "f".repeat(64) }, isWhole };
      await (slow as Alarm).record({ ...good, prior });
      expect(await (slow as Alarm).refresh(reader)).toMatchObject({
        alarm: { ...finding, foundAt: 1_000 },
        verifiedSeq: prior.verifiedSeq,
      });
      await (slow as Alarm).record({ ...good, prior: await (slow as Alarm).refresh(reader) });
      expect((await (quick as Alarm).refresh(reader)).alarm).toBeUndefined();
    } finally {
      await database.close();
    }
  });
});

describe("a start", () => {
  it("verifies the receipts since the last verification, and records the last good one", async () => {
    const target = await startFilled(5);
    await verify(target);
    expect(await verifiedSeq(target)).toBe(6);
    await fill(target.db, 3);
    const second = await startLedger({ db: target.db });
    await waitUntil("the verification", async () => (await verifiedSeq(target)) === 9);
    expect(second.log).toContainEqual(expect.objectContaining({ count: 3, lastGood: 9, isGood: true }));
  });

  it.each([
    ["a receipt after the last that was verified", 8],
    ["the last that was verified", 6],
  ])("finds damage to %s", async (_, seq) => {
    const target = await startFilled(5);
    await verify(target);
    await fill(target.db, 3);
    await damage(target, seq);
    const second = await startLedger({ db: target.db });
    await waitUntil("the alarm", async () => (await warning(second)) !== undefined);
    expect(await warning(second)).toContain(`receipt ${seq}, wrong_hash`);
    expect(await warning(target)).toContain(`receipt ${seq}, wrong_hash`);
  });

  it("does not clear an alarm if only the new receipts are good", async () => {
    const target = await startFilled(5);
    await verify(target);
    await fill(target.db, 3);
    const mend = await damage(target, 8);
    await verify(target);
    await mend();
    const second = await startLedger({ db: target.db });
    await waitUntil("the verification", async () => (await verifiedSeq(target)) === 9);
    expect(await warning(second)).toContain("receipt 8");
    expect((await verify(second)).verify_ok).toBe(true);
    expect(await warning(second)).toBeUndefined();
  });

  it("verifies the whole chain after damage to receipts that were good", async () => {
    const target = await startFilled(5);
    await verify(target);
    await damage(target, 4);
    await verify(target);
    const second = await startLedger({ db: target.db });
    await waitUntil("the verification", () =>
      second.log.some(({ count, lastGood, isGood }) => count === 3 && lastGood === 3 && isGood === false),
    );
  });

  it("finds a chain that was rewritten up to the last receipt that was verified", async () => {
    const target = await startFilled(5);
    await verify(target);
    await target.db.rows("UPDATE ledger_verification SET verified_hash = REPEAT('b', 64)");
    const second = await startLedger({ db: target.db });
    await waitUntil("the alarm", async () => (await warning(second)) !== undefined);
    expect(await warning(second)).toMatch(/receipt 6, wrong_hash: its hash is \w+; it was b+ when/);
  });
});
