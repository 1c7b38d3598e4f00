import { beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { askRest } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";
import { type LedgerUnderTest, refusal, startLedger, TestClock, unlockReceipts, verifyLedger } from "../support.ts";

const clerk = { agent: "stoa", seat: "clerk" };
const noteOnTime = "Sealed by the service's clock at the end of the day.";
const late = expect.stringMatching(/^Sealed late/);

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

describe("the daily seal", () => {
  it("is made after midnight, with the content of the contract", async () => {
    const clock = new TestClock("2026-03-01T13:30:00Z");
    const { db, seal } = await startLedger({ clock });
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

  it("is made once for each date by two instances", async () => {
    const clock = new TestClock("2026-03-01T12:00:00Z");
    const first = await startLedger({ clock });
    const instances = [first, await startLedger({ clock, db: first.db })];
    for (const [today, yesterday] of [
      ["2026-03-02", "2026-03-01"],
      ["2026-03-03", "2026-03-02"],
    ] as const) {
      clock.set(`${today}T00:00:01Z`);
      await sealed(first.db, yesterday);
    }
    // Each instance finishes its work before it stops.
    await Promise.all(instances.map(({ app }) => app.close()));
    const documents = await dailies(first.db);
    expect(documents.map(({ body }) => body.date)).toEqual(["2026-03-01", "2026-03-02"]);
    const lines = instances.flatMap(({ log }) => log.filter(({ msg }) => msg === "sealed a day"));
    expect(lines.map(({ date }) => date).sort()).toEqual(["2026-03-01", "2026-03-02"]);
    expect(instances.flatMap(({ log }) => log.filter(({ level }) => Number(level) >= 50))).toEqual([]);
  });

  it("is made late, in order and with a note, when two instances start after some days", async () => {
    const db = await createTestDatabase();
    const clock = new TestClock("2026-02-28T18:00:00Z");
    const before = await startLedger({ clock, db });
    await before.app.close();
    clock.set("2026-03-03T00:02:00Z");
    const instances = await Promise.all([1, 2].map(() => startLedger({ clock, db })));
    await sealed(db, "2026-03-02");
    await Promise.all(instances.map(({ app }) => app.close()));
    const documents = await dailies(db);
    expect(documents.map(({ body, evidence }) => [body.date, evidence.note])).toEqual([
      ["2026-02-28", late],
      ["2026-03-01", late],
      ["2026-03-02", noteOnTime],
    ]);
    expect(documents.every(({ body }) => body.verify_ok)).toBe(true);
    expect(instances.flatMap(({ log }) => log.filter(({ level }) => Number(level) >= 50))).toEqual([]);
  });

  it("is made once, with a time that never decreases, when the clock jumps back", async () => {
    const clock = new TestClock("2026-03-01T12:00:00Z");
    const { db, seal } = await startLedger({ clock });
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

  it.each(["grpc", "grpc-web", "connect"] as const)("refuses what cannot be sealed (%s)", async (protocol) => {
    const bad = { code: "InvalidArgument", error: "bad_input", field: "date" };
    const today = new Date(clock.ms).toISOString().slice(0, 10);
    for (const date of [
      "",
      "2026-3-1",
      "2026-02-30",
      "0000-01-01",
      "2026-03-01 ",
      today,
      "2026-03-09",
      "2026-12-01",
      "9999-12-31",
    ]) {
      expect([date, await refusal(service.sealDaily(date, protocol))]).toEqual([date, bad]);
    }
    expect(await refusal(service.sealDaily("2026-03-10", protocol))).toEqual({
      code: "AlreadyExists",
      error: "exists",
      field: "date",
    });
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

describe("a chain that does not verify", () => {
  it("is sealed with verify_ok false and raises the alarm, until it is restored and verified", async () => {
    const clock = new TestClock("2026-03-01T12:00:00Z");
    const service = await startLedger({ clock });
    const { db, rest, log } = service;
    for (let number = 0; number < 3; number++) await service.seal();
    await unlockReceipts(db);
    const [{ canonical }] = (await db.rows<{ canonical: Buffer }>("SELECT canonical FROM receipts WHERE seq = 3")) as [
      { canonical: Buffer },
    ];
    const forged = canonical.toString("utf8").replace("a note", "A note");
    await db.rows("UPDATE receipts SET canonical = ? WHERE seq = 3", [Buffer.from(forged)]);
    expect((await rest("/readyz")).body).toEqual({ ok: true });

    clock.set("2026-03-03T00:00:02Z");
    await sealed(db, "2026-03-02");
    await waitUntil("the alarm", async () => (await rest("/readyz")).body.warning !== undefined);
    const bodies = await db.rows<{ canonical: Buffer }>("SELECT canonical FROM receipts WHERE seq > 4 ORDER BY seq");
    expect(bodies.map((row) => JSON.parse(row.canonical.toString()).body)).toMatchObject([
      { type: "daily", date: "2026-03-01", head_seq: 4, verify_ok: false },
      { type: "daily", date: "2026-03-02", head_seq: 5, verify_ok: false },
    ]);
    const alarm = log.find(({ level, seq }) => level === 50 && seq === 3);
    expect(alarm).toMatchObject({ seq: 3, fault: "wrong_hash", lastGood: 2 });
    const ready = await rest("/readyz");
    expect(ready.status).toBe(200);
    expect(ready.body).toEqual({ ok: true, warning: expect.stringMatching(/receipt 3\b.*wrong_hash/) });
    const { key } = await service.register();
    expect((await rest("posts", { key, body: { title: "The board goes on" } })).status).toBe(201);
    expect((await service.seal()).seq).toBe(7n);

    await db.rows("UPDATE receipts SET canonical = ? WHERE seq = 3", [canonical]);
    expect((await rest("/house/verify?from=4")).body.verify_ok).toBe(true);
    expect((await rest("/readyz")).body.warning).toContain("receipt 3");
    expect((await askRest(service.url, "/house/verify?from=0")).body).toMatchObject({ verify_ok: true, count: 7 });
    expect((await rest("/readyz")).body).toEqual({ ok: true });
    await verifyLedger(db);
  });
});
