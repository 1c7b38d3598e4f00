// A good report of a verification is reused for some seconds. It says its age, and never hides a newer receipt.
import { beforeEach, expect, it } from "vitest";
import { LedgerService } from "../../../gen/stoa/v1/ledger_service_pb.js";
import { type LedgerUnderTest, startLedger, TestClock, unlockReceipts } from "../support.ts";

let service: LedgerUnderTest;
beforeEach(async () => {
  service = await startLedger({ overrides: { verificationAgeMs: 60_000 } });
  await service.seal();
});

const verify = async (from: number) => (await service.rest(`/house/verify?from=${from}`)).body;
const changeHash = () => service.db.rows("UPDATE receipts SET hash = REPEAT('a', 64) WHERE seq = 2");

it("a report is reused and says its age over every protocol", async () => {
  const first = await verify(1);
  expect(first).toMatchObject({ verify_ok: true, to: 2, age_seconds: 0 });
  // A new verification would find this. The chain is not read again.
  await unlockReceipts(service.db);
  await changeHash();
  expect(await verify(0)).toEqual({ ...first, age_seconds: 1 });
  for (const protocol of ["grpc", "grpc-web", "connect"] as const) {
    const reply = await service.connect(LedgerService, protocol).verifyChain({ from: 1n });
    expect(reply).toMatchObject({ verifyOk: true, ageSeconds: 1n });
  }
});

it("a report is reused only for the same part of the chain", async () => {
  await verify(1);
  expect(await verify(2)).toMatchObject({ from: 2, count: 1, age_seconds: 0 });
  expect(await verify(2)).toMatchObject({ from: 2, count: 1, age_seconds: 1 });
  expect(await verify(1)).toMatchObject({ from: 1, count: 2, age_seconds: 1 });
});

it("a receipt that was sealed after the report is verified", async () => {
  await verify(1);
  const { hash } = await service.seal();
  expect(await verify(1)).toMatchObject({ to: 3, count: 3, head: hash, age_seconds: 0 });
});

it("a report of a fault is not reused", async () => {
  await unlockReceipts(service.db);
  await changeHash();
  expect(await verify(1)).toMatchObject({ verify_ok: false, broken_at: 2, age_seconds: 0 });
  expect(await verify(1)).toMatchObject({ verify_ok: false, broken_at: 2, age_seconds: 0 });
});

it("the seal of a day runs its own verification", async () => {
  const clock = new TestClock("2026-01-05T12:00:00Z");
  service = await startLedger({ clock, overrides: { verificationAgeMs: 60_000 } });
  await service.seal({ session: "2026-01-05" });
  expect(await verify(1)).toMatchObject({ verify_ok: true });
  await unlockReceipts(service.db);
  await changeHash();
  clock.set("2026-01-06T12:00:00Z");
  const { canonical } = await service.sealDaily("2026-01-05");
  expect(JSON.parse(canonical).body.verify_ok).toBe(false);
});

it("a report is forgotten after a while", async () => {
  service = await startLedger({ overrides: { verificationAgeMs: 50 } });
  await service.seal();
  expect(await verify(1)).toMatchObject({ verify_ok: true });
  await unlockReceipts(service.db);
  await changeHash();
  await expect.poll(() => verify(1)).toMatchObject({ verify_ok: false, broken_at: 2 });
});
