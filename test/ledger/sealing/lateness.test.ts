// When a day is over, and when its seal says that it is late: exact to the millisecond.
import { describe, expect, it } from "vitest";
import { dateOf, dayMs } from "../../../src/ledger/calendar.ts";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { openLedger, TestClock, verifyLedger } from "../support.ts";

const never = new AbortController().signal;
const clock = new TestClock("2026-03-01T12:00:00Z");
const db = await createDatabaseWithSchema();
const { ledger } = await openLedger(db, clock.now);

/** The note of a day's receipt; undefined if the day is not sealed. */
async function noteOf(date: string): Promise<string | undefined> {
  const documents = await verifyLedger(db);
  return documents.find(({ body }) => body.type === "daily" && body.date === date)?.evidence.note;
}

describe("a day that is sealed after its end", () => {
  it.each([
    [0, /^Sealed by the service's clock/],
    [300_000, /^Sealed by the service's clock/],
    [300_001, /^Sealed late: /],
    [dayMs - 1, /^Sealed late: /],
  ])("by %d ms has this note: %s", async (ms, note) => {
    const date = dateOf(clock.ms);
    const end = Date.parse(`${date}T00:00:00Z`) + dayMs;
    clock.ms = end - 1;
    await ledger.days.sealDue(never);
    expect(await noteOf(date)).toBeUndefined();
    clock.ms = end + ms;
    await ledger.days.sealDue(never);
    expect(await noteOf(date)).toMatch(note);
  });

  it("has the same bounds if an operator seals it", async () => {
    for (const [ms, note] of [
      [300_000, /^Sealed by the service's clock/],
      [300_001, /^Sealed late: /],
    ] as const) {
      const date = dateOf(clock.ms);
      const end = Date.parse(`${date}T00:00:00Z`) + dayMs;
      clock.ms = end - 1;
      const seal = () => ledger.days.seal(never, date, ({ seq }) => seq);
      await expect(seal()).rejects.toMatchObject({ code: "bad_input", field: "date" });
      clock.ms = end + ms;
      expect(await seal()).toBeGreaterThan(1);
      expect(await noteOf(date)).toMatch(note);
    }
  });
});
