import { expect, it } from "vitest";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { openLedger, sealBook, startLedger, TestClock, verifyLedger, zeros } from "../support.ts";

it("the first start seals receipt 1 with exactly these fields; its date is the epoch, which does not change", async () => {
  const clock = new TestClock("2026-03-05T23:59:59.006Z");
  const first = await startLedger({ clock });
  const documents = await verifyLedger(first.db);
  expect(documents).toEqual([
    {
      v: 1,
      seq: 1,
      kind: "seal",
      ts: "2026-03-05T23:59:59.006Z",
      city_day: 1,
      book: null,
      actor: { agent: "stoa", seat: "clerk" },
      prev_hash: zeros,
      refs: [],
      evidence: { note: expect.any(String), source: "/house/verify?from=0" },
      body: { type: "genesis", count: 0, head: zeros, note: expect.any(String) },
    },
  ]);
  const { body } = await first.rest("house/receipts/1");
  expect(body.receipt).toMatchObject({ seq: 1, ref: "r:1", prev_hash: zeros, document: documents[0] });
  expect((await first.rest("/house/verify")).body).toMatchObject({ verify_ok: true, from: 1, to: 1, count: 1 });
  await first.app.close();
  clock.set("2026-03-08T00:00:00Z");
  const later = await startLedger({ clock, db: first.db });
  expect((await later.seal()).document?.city_day).toBe(4);
  // There is one first receipt.
  await verifyLedger(first.db);
});

it("there is one first receipt, however many services begin at the same time on an empty database", async () => {
  const db = await createDatabaseWithSchema();
  const opened = await Promise.all(Array.from({ length: 3 }, () => openLedger(db)));
  expect(await verifyLedger(db)).toHaveLength(1);
  await Promise.all(opened.map(({ ledger }, index) => sealBook(ledger, `book ${index}`, "2026-01-05")));
  expect(await verifyLedger(db)).toHaveLength(4);
});

it("a configured epoch is day 1, counts UTC days, and cannot change; it must not be in the future", async () => {
  const clock = new TestClock("2026-03-01T00:00:00Z");
  const db = await createDatabaseWithSchema();
  const open = async (epoch: string) => (await openLedger(db, clock.now, { epoch })).ledger;
  await expect(open("2026-03-02")).rejects.toThrow("STOA_LEDGER_EPOCH is 2026-03-02, a day that has not come yet.");
  expect(await db.rows("SELECT * FROM receipts")).toEqual([]);
  const ledger = await open("2025-12-31");
  for (const time of ["2026-03-01T23:59:59.999Z", "2026-03-02T00:00:00.000Z"]) {
    clock.set(time);
    await sealBook(ledger, time, "2026-01-05");
  }
  expect((await verifyLedger(db)).map(({ city_day }) => city_day)).toEqual([61, 61, 62]);
  await open("2025-12-31");
  await expect(open("2026-01-01")).rejects.toThrow(
    "STOA_LEDGER_EPOCH is 2026-01-01, but this ledger began with 2025-12-31, which cannot change.",
  );
});

it("the epoch is that of one start if several disagree; the others are refused", async () => {
  const db = await createDatabaseWithSchema();
  const epochs = ["2026-01-01", "2026-01-02"];
  const starts = await Promise.allSettled(epochs.map((epoch) => openLedger(db, Date.now, { epoch })));
  expect(starts.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const winner = epochs[starts.findIndex(({ status }) => status === "fulfilled")];
  expect(await db.rows("SELECT epoch FROM ledger_epoch")).toEqual([{ epoch: winner }]);
  expect(await verifyLedger(db)).toHaveLength(1);
});
