// The alarm is stored in the database, so that every replica knows it, also after a restart.
import { pino } from "pino";
import { afterEach, describe, expect, it } from "vitest";
import { Alarm } from "../../../src/ledger/verification/alarm.ts";
import { verifiedAtStart, verifyAtStart } from "../../../src/ledger/verification/verify-at-start.ts";
import { chainStart } from "../../../src/receipt/verify.ts";
import { openStore } from "../../support/database.ts";
import { waitUntil } from "../../support/wait.ts";
import { damageHash, fill, type LedgerUnderTest, openLedger, startLedger } from "../support.ts";

const never = new AbortController().signal;
const verify = async (target: LedgerUnderTest, from = 0) => (await target.rest(`/house/verify?from=${from}`)).body;
/** The warning of the ledger. There may be another: these tests drop the triggers, and one replica looks at the database. */
const warning = async (target: LedgerUnderTest): Promise<string | undefined> => {
  const text: string | undefined = (await target.rest("/readyz")).body.warning;
  return text?.includes("does not verify") ? text : undefined;
};
const verifiedSeq = async ({ db }: LedgerUnderTest) =>
  (await db.rows<{ seq: number }>("SELECT verified_seq AS seq FROM ledger_verification"))[0]?.seq as number;

const refuseUpdates =
  "CREATE TRIGGER refuse BEFORE UPDATE ON ledger_verification FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'no'";

/** Two replicas. Each test ends with a chain of six receipts or more that has verified as a whole. */
const target = await startLedger();
/** Looks at the database all the time, while the other one looks only when it is asked. */
const quick = await startLedger({ db: target.db, overrides: { databaseLookMs: 20 } });
await fill(target.db, 5);

afterEach(async () => {
  expect((await verify(target)).verify_ok).toBe(true);
});

/** A chain that has verified, and three new receipts. @returns the last receipt that was verified */
async function grow(): Promise<number> {
  await verify(target);
  const seq = await verifiedSeq(target);
  await fill(target.db, 3);
  return seq;
}

describe("the alarm", () => {
  it("is known to every replica and after a restart, until the whole chain has verified", async () => {
    const mend = await damageHash(target.db, 4);
    expect((await verify(target)).verify_ok).toBe(false);
    for (const replica of [target, quick]) expect(await warning(replica)).toMatch(/receipt 4, wrong_hash: /);

    const third = await startLedger({ db: target.db });
    await mend();
    expect(third.log).toContainEqual(expect.objectContaining({ level: 50, seq: 4, fault: "wrong_hash" }));
    expect((await verify(third, 5)).verify_ok).toBe(true);
    for (const replica of [target, quick, third]) expect(await warning(replica)).toContain("receipt 4");
    expect((await verify(quick)).verify_ok).toBe(true);
    for (const replica of [target, quick, third]) expect(await warning(replica)).toBeUndefined();
    expect(third.log.map(({ msg }) => msg)).toContain("the ledger verifies again");
    await third.app.close();
  });

  it("reaches a replica without readiness checks", async () => {
    const mend = await damageHash(target.db, 2);
    await verify(target);
    await waitUntil("the log", () => quick.log.some(({ level, seq }) => level === 50 && seq === 2));
    await mend();
  });

  it("names the first receipt that any verification has found", async () => {
    const mends = [await damageHash(target.db, 3), await damageHash(target.db, 6)];
    await verify(target, 5);
    expect(await warning(target)).toContain("receipt 6");
    await verify(target);
    expect(await warning(target)).toContain("receipt 3");
    await verify(target, 5);
    expect(await warning(target)).toContain("receipt 3");
    for (const mend of mends) await mend();
  });

  it("is raised although it cannot be stored, and is stored when that is possible again", async () => {
    const mend = await damageHash(quick.db, 2);
    await quick.db.rows(refuseUpdates);
    expect((await verify(quick)).broken_at).toBe(2);
    expect(await warning(quick)).toContain("receipt 2");
    expect(await warning(target)).toBeUndefined();
    await quick.db.rows("DROP TRIGGER refuse");
    await waitUntil("the alarm to be stored", async () => (await warning(target))?.includes("receipt 2") ?? false);
    expect(await warning(quick)).toContain("receipt 2");
    await mend();
  });

  it("does not make readiness checks wait for a lock if it could not be stored", async () => {
    const mend = await damageHash(target.db, 2);
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
    await target.db.rows("DROP TRIGGER refuse");
    await mend();
  });

  it("is not cleared by a good verification that began before it was raised", async () => {
    const database = openStore(target.db, 2);
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
      verifiedSeq: chainStart.seq,
    });
    await (slow as Alarm).record({ ...good, prior: await (slow as Alarm).refresh(reader) });
    expect((await (quick as Alarm).refresh(reader)).alarm).toBeUndefined();
  });
});

describe("a start", () => {
  type Line = Record<string, unknown>;

  /** What the log says of a verification at a start. */
  async function verifyAsAtStart(): Promise<{ verdict: Line; alarm: Line | undefined }> {
    const lines: Line[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const { ledger } = await openLedger(target.db, Date.now, { log });
    const verdict = () => lines.find(({ msg }) => msg === verifiedAtStart);
    const running = verifyAtStart(ledger.verifier, log);
    await waitUntil("the verdict", () => verdict() !== undefined);
    await running.stop();
    return { verdict: verdict() as Line, alarm: lines.find(({ level }) => level === 50) };
  }

  it("verifies the receipts since the last verification, and records the last good one", async () => {
    const verified = await grow();
    const { verdict, alarm } = await verifyAsAtStart();
    expect([verdict, alarm]).toMatchObject([{ count: 3, lastGood: verified + 3, isGood: true }, undefined]);
    expect(await verifiedSeq(target)).toBe(verified + 3);
  });

  it.each([
    ["a receipt after the last that was verified", 2],
    ["the last that was verified", 0],
  ])("finds damage to %s", async (_, after) => {
    const seq = (await grow()) + after;
    const mend = await damageHash(target.db, seq);
    expect((await verifyAsAtStart()).alarm).toMatchObject({ seq, fault: "wrong_hash" });
    expect(await warning(target)).toContain(`receipt ${seq}, wrong_hash`);
    await mend();
  });

  it("verifies the whole chain after damage to receipts that were good", async () => {
    await verify(target);
    const mend = await damageHash(target.db, 4);
    await verify(target);
    expect((await verifyAsAtStart()).verdict).toMatchObject({ count: 3, lastGood: 3, isGood: false });
    await mend();
  });

  it("finds a chain that was rewritten up to the last receipt that was verified", async () => {
    await verify(target);
    await target.db.rows("UPDATE ledger_verification SET verified_hash = REPEAT('b', 64)");
    await verifyAsAtStart();
    expect(await warning(target)).toMatch(/receipt \d+, wrong_hash: its hash is \w+; it was b+ when/);
  });
});
