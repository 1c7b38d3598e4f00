import { pino } from "pino";
import { describe, expect, it, onTestFinished } from "vitest";
import { startDailySealing } from "../../../src/ledger/sealing/daily-sealing.ts";
import { SealChecks } from "../../../src/ledger/sealing/seal-checks.ts";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { waitUntil } from "../../support/wait.ts";
import { openLedger, sealBook, TestClock, verifyLedger } from "../support.ts";

const { signal } = new AbortController();

/** A ledger of one receipt. Tests move its clock and block its sealing. */
async function startHeld() {
  const clock = new TestClock("2026-03-01T12:00:00Z");
  const db = await createDatabaseWithSchema();
  const state: { reasons: (string | undefined)[]; looks: number } = { reasons: [undefined, undefined], looks: 0 };
  const sealChecks = new SealChecks();
  for (const index of state.reasons.keys()) sealChecks.add(async () => state.reasons[index]);
  sealChecks.add(async () => void state.looks++);
  const { ledger } = await openLedger(db, clock.now, { sealChecks });
  const session = (book: string) => sealBook(ledger, book, "2026-03-01");
  return { clock, db, ledger, session, state };
}

describe("seal checks", () => {
  it("block sessions and days with every reason, but not work that appends no receipt", async () => {
    const { clock, db, ledger, session, state } = await startHeld();
    await session("sealed before");
    clock.set("2026-03-02T00:00:01Z");
    state.reasons = ["The first reason.", "The second reason."];
    const held = {
      code: "unavailable",
      message: "Nothing is sealed now: The first reason. The second reason.",
      retryAfterSeconds: 60,
    };
    await expect(session("another")).rejects.toMatchObject(held);
    await expect(ledger.days.seal(signal, "2026-03-01", ({ seq }) => seq)).rejects.toMatchObject(held);
    await expect(ledger.days.sealDue(signal)).rejects.toMatchObject(held);
    await expect(session("sealed before")).rejects.toMatchObject({ code: "exists" });
    expect((await ledger.receipts.get(signal, 2)).seq).toBe(2);
    expect(await verifyLedger(db)).toHaveLength(2);

    state.reasons = [undefined, undefined];
    expect(await ledger.days.seal(signal, "2026-03-01", ({ seq }) => seq)).toBe(3);
    expect((await session("another")).seq).toBe(4);
    await verifyLedger(db);
  });

  it("make the daily sealing wait; it logs each reason once, and seals when there is none", async () => {
    const { clock, db, ledger, state } = await startHeld();
    state.reasons[0] = "The first reason.";
    clock.set("2026-03-02T00:00:01Z");
    const lines: { msg: string; reason?: string }[] = [];
    const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
    const daily = startDailySealing(ledger, clock.now, log);
    onTestFinished(() => daily.stop());
    await waitUntil("the first reason", () => lines.length === 1);
    const { looks } = state;
    await waitUntil("another look", () => state.looks > looks);
    state.reasons[0] = "Another reason.";
    await waitUntil("the second reason", () => lines.length === 2);
    state.reasons[0] = undefined;
    await waitUntil("the seal", () => lines.some(({ msg }) => msg === "sealing continues"));
    await waitUntil("the day", async () => (await db.rows("SELECT 1 FROM ledger_days")).length === 1);
    expect(lines.map(({ msg, reason }) => [msg, reason]).slice(0, 3)).toEqual([
      ["nothing is sealed", "The first reason."],
      ["nothing is sealed", "Another reason."],
      ["sealing continues", undefined],
    ]);
    await verifyLedger(db);
  });

  it("block receipt 1", async () => {
    const empty = await createDatabaseWithSchema();
    const sealChecks = new SealChecks();
    sealChecks.add(async () => "The reason.");
    await expect(openLedger(empty, Date.now, { sealChecks })).rejects.toThrow("Nothing is sealed now: The reason.");
    expect(await empty.rows("SELECT seq FROM receipts")).toEqual([]);
  });
});
