import { expect, it } from "vitest";
import { createTestDatabase } from "../../support/database.ts";
import { startLedger, TestClock, verifyLedger, zeros } from "../support.ts";

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

it("there is one first receipt, however many services start at the same time on an empty database", async () => {
  const db = await createTestDatabase();
  const services = await Promise.all(Array.from({ length: 3 }, () => startLedger({ db })));
  expect(await verifyLedger(db)).toHaveLength(1);
  const lines = services.flatMap(({ log }) => log.filter(({ msg }) => msg === "sealed the first receipt"));
  expect(lines).toHaveLength(1);
  await Promise.all(services.map(({ seal }) => seal()));
  expect(await verifyLedger(db)).toHaveLength(4);
});

it("a configured epoch is day 1, counts UTC days, and cannot change; it must not be in the future", async () => {
  const clock = new TestClock("2026-03-01T00:00:00Z");
  const db = await createTestDatabase();
  const start = (ledgerEpoch: string) => startLedger({ clock, db, config: { ledgerEpoch } });
  await expect(start("2026-03-02")).rejects.toThrow("STOA_LEDGER_EPOCH is 2026-03-02, a day that has not come yet.");
  expect(await db.rows("SELECT * FROM receipts")).toEqual([]);
  const service = await start("2025-12-31");
  const [genesis] = await verifyLedger(db);
  expect(genesis.city_day).toBe(61);
  clock.set("2026-03-01T23:59:59.999Z");
  expect((await service.seal()).document?.city_day).toBe(61);
  clock.set("2026-03-02T00:00:00.000Z");
  expect((await service.seal()).document?.city_day).toBe(62);
  await service.app.close();
  await verifyLedger(db);
  await (await start("2025-12-31")).app.close();
  await expect(start("2026-01-01")).rejects.toThrow(
    "STOA_LEDGER_EPOCH is 2026-01-01, but this ledger began with 2025-12-31, which cannot change.",
  );
});

it("the epoch is that of one start if several disagree; the others are refused", async () => {
  const db = await createTestDatabase();
  const epochs = ["2026-01-01", "2026-01-02"];
  const starts = await Promise.allSettled(epochs.map((ledgerEpoch) => startLedger({ db, config: { ledgerEpoch } })));
  expect(starts.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  const winner = epochs[starts.findIndex(({ status }) => status === "fulfilled")];
  expect(await db.rows("SELECT epoch FROM ledger_epoch")).toEqual([{ epoch: winner }]);
  expect(await verifyLedger(db)).toHaveLength(1);
});
