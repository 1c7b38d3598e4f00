import { pino } from "pino";
import { beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { startDailySealing } from "../../../src/ledger/sealing/daily-sealing.ts";
import type { Ticker } from "../../../src/timing/ticker.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../../support/database.ts";
import { waitUntil } from "../../support/wait.ts";
import { type LedgerUnderTest, openLedger, refusal, startLedger, TestClock, verifyLedger } from "../support.ts";

const clerk = { agent: "stoa", seat: "clerk" };
const noteOnTime = "Sealed by the service's clock at the end of the day.";
const noteLate = expect.stringMatching(/^Sealed late/);

/** Resolves once the day is sealed. */
function sealed(db: TestDatabase, date: string): Promise<void> {
  return waitUntil(`the seal of ${date}`, async () => {
    return (await db.rows("SELECT 1 FROM ledger_days WHERE date = ?", [date])).length > 0;
  });
}

async function dailies(db: TestDatabase) {
  return (await verifyLedger(db)).filter(({ body }) => body.type === "daily");
}

/** The SHA-256 of an empty list. */
const noModerations = { count: 0, hash: "4f53cda18c2baa0c0354bb5f9a3ecbe5ed12ab4d8e11ba873c2f11161202b945" };

it("the daily seal is tried again after a failure, and waits longer each time, up to a minute", async () => {
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const clock = new TestClock("2026-03-01T12:00:00Z");
  const db = await createDatabaseWithSchema();
  const { ledger } = await openLedger(db, clock.now);
  await db.rows(`CREATE TRIGGER nothing_is_sealed BEFORE INSERT ON receipts
    FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'refused'`);
  clock.set("2026-03-02T00:00:01Z");
  const triedAt: number[] = [];
  const seal = ledger.days.sealDue.bind(ledger.days);
  const failing = vi.spyOn(ledger.days, "sealDue").mockImplementation(async (...args) => {
    triedAt.push(performance.now());
    // The database refuses the first one. It takes its time, so the others fail here.
    if (triedAt.length === 1) return seal(...args);
    throw new Error("refused");
  });
  const lines: { msg: string }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const daily = startDailySealing(ledger, clock.now, log);
  onTestFinished(() => daily.stop());
  await waitUntil("the operator is told", () => lines.length > 0);
  expect(lines[0]).toMatchObject({
    msg: "the days that are over could not be sealed",
    err: { stack: expect.stringContaining("refused") },
  });
  while (triedAt.length < 9) await vi.advanceTimersByTimeAsync(1_000);
  const pauses = triedAt.slice(1).map((at, index) => (at - (triedAt[index] as number)) / 1_000);
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 60, 60]);
  failing.mockRestore();
  await db.rows("DROP TRIGGER nothing_is_sealed");
  await vi.advanceTimersByTimeAsync(60_000);
  await sealed(db, "2026-03-01");
});

describe("the daily seal", () => {
  const clock = new TestClock("2026-03-01T13:30:00Z");
  let service: LedgerUnderTest;
  beforeAll(async () => {
    service = await startLedger({ clock });
  });

  it("is made after midnight, with the content of the contract", async () => {
    const { db, seal } = service;
    await seal({ session: "2026-03-01" });
    clock.set("2026-03-01T23:59:59.999Z");
    await seal({ session: "2026-03-01" });
    clock.set("2026-03-02T00:00:04.120Z");
    await sealed(db, "2026-03-01");
    const documents = await verifyLedger(db);
    expect(documents).toHaveLength(4);
    const [, , before, daily] = documents;
    const { prev_hash } = daily;
    expect(daily).toEqual({
      v: 1,
      seq: 4,
      kind: "seal",
      ts: "2026-03-02T00:00:04.120Z",
      city_day: 2,
      book: null,
      actor: clerk,
      prev_hash,
      refs: [],
      evidence: { moderations: noModerations, note: noteOnTime, source: "/house/verify?from=0" },
      body: { type: "daily", count: 3, date: "2026-03-01", head: prev_hash, head_seq: 3, verify_ok: true },
    });
    expect(before.body.type).toBe("session");
  });

  it("is made once, with a time that never decreases, when the clock jumps back", async () => {
    const { db, seal } = service;
    clock.set("2026-03-03T10:00:00Z");
    await sealed(db, "2026-03-02");
    clock.set("2026-03-03T09:59:00Z");
    const receipt = await seal({ session: "2026-03-01" });
    expect(receipt.document?.ts).toBe("2026-03-03T10:00:00.000Z");
    expect(receipt.document?.city_day).toBe(3);
    // If the clock is set back by more than the tolerance, nothing is sealed. Later only the new day is sealed.
    clock.set("2026-03-02T00:00:30Z");
    expect(await refusal(seal({ session: "2026-03-01" }))).toEqual({ code: "Unavailable", error: "unavailable" });
    clock.set("2026-03-04T00:00:30Z");
    await sealed(db, "2026-03-03");
    expect((await dailies(db)).map(({ body }) => body.date)).toEqual(["2026-03-01", "2026-03-02", "2026-03-03"]);
  });
});

it("two replicas make the daily seal once for each date, also late when both start after some days", async () => {
  const clock = new TestClock("2026-02-26T12:00:00Z");
  const db = await createDatabaseWithSchema();
  const lines: { msg: string; level: number; date?: string }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const startTwo = async () => {
    const opened = await Promise.all([1, 2].map(() => openLedger(db, clock.now, { log })));
    return opened.map(({ ledger }) => startDailySealing(ledger, clock.now, log));
  };
  // Each replica finishes its work before it stops.
  const stop = (replicas: Ticker[]) => Promise.all(replicas.map((replica) => replica.stop()));
  const running = await startTwo();
  for (const [today, yesterday] of [
    ["2026-02-27", "2026-02-26"],
    ["2026-02-28", "2026-02-27"],
  ] as const) {
    clock.set(`${today}T00:00:01Z`);
    await sealed(db, yesterday);
  }
  await stop(running);
  clock.set("2026-03-03T00:02:00Z");
  const late = await startTwo();
  await sealed(db, "2026-03-02");
  await stop(late);
  const documents = await dailies(db);
  expect(documents.map(({ body, evidence }) => [body.date, evidence.note])).toEqual([
    ["2026-02-26", noteOnTime],
    ["2026-02-27", noteOnTime],
    ["2026-02-28", noteLate],
    ["2026-03-01", noteLate],
    ["2026-03-02", noteOnTime],
  ]);
  expect(documents.every(({ body }) => body.verify_ok)).toBe(true);
  const dates = lines.filter(({ msg }) => msg === "sealed a day").map(({ date }) => date);
  expect(dates.sort()).toEqual(documents.map(({ body }) => body.date));
  expect(lines.filter(({ level }) => level >= 50)).toEqual([]);
});

describe("SealDaily", () => {
  let service: LedgerUnderTest;
  const clock = new TestClock("2026-03-10T12:00:00Z");
  beforeAll(async () => {
    // The daily sealing would sometimes be first.
    service = await startLedger({ clock, overrides: { sealsDays: false } });
  });

  it("seals a finished day before the daily sealing does", async () => {
    clock.set("2026-03-11T00:00:00.000Z");
    expect(await service.sealDaily("2026-03-10")).toMatchObject({
      document: { actor: clerk, book: null, body: { type: "daily", date: "2026-03-10", verify_ok: true } },
    });
    await verifyLedger(service.db);
  });

  it("refuses what cannot be sealed", async () => {
    const bad = { code: "InvalidArgument", error: "bad_input", field: "date" };
    const today = new Date(clock.ms).toISOString().slice(0, 10);
    for (const date of ["", "2026-3-1", "2026-02-30", "2026-03-01 ", today, "2026-03-09", "9999-12-31"]) {
      expect([date, await refusal(service.sealDaily(date))]).toEqual([date, bad]);
    }
    const exists = { code: "AlreadyExists", error: "exists", field: "date" };
    expect(await refusal(service.sealDaily("2026-03-10"))).toEqual(exists);
  });

  it("succeeds for one of many callers at the same time", async () => {
    clock.set("2026-03-14T00:00:00Z");
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => service.sealDaily("2026-03-12").catch((error) => refusal(Promise.reject(error)))),
    );
    const exists = { code: "AlreadyExists", error: "exists", field: "date" };
    expect(outcomes.filter((outcome) => "seq" in outcome)).toHaveLength(1);
    expect(outcomes.filter((outcome) => !("seq" in outcome))).toEqual(Array.from({ length: 7 }, () => exists));
    expect((await dailies(service.db)).map(({ body }) => body.date)).toEqual(["2026-03-10", "2026-03-12"]);
  });
});
