// A good report of a verification is reused for some seconds. It says its age, and never hides a newer receipt.
import { expect, it } from "vitest";
import { LedgerService } from "../../../gen/stoa/v1/ledger_service_pb.js";
import { waitUntil } from "../../support/wait.ts";
import { damageHash, startLedger, TestClock } from "../support.ts";

const clock = new TestClock("2026-01-05T12:00:00Z");
const service = await startLedger({ clock, overrides: { verificationAgeMs: 3_600_000 } });
/** The newest receipt; each test seals one of its own, which ends the reuse of older reports. */
let seq: number;
const seal = async () => {
  seq = Number((await service.seal()).seq);
};

const verify = async (from: number, { rest } = service) => (await rest(`/house/verify?from=${from}`)).body;

/** A report that was made before; it says its age in whole seconds, rounded up. */
const reused = { asymmetricMatch: (age: unknown) => Number(age) > 0 };

it("a report is reused and says its age over every protocol", async () => {
  await seal();
  const first = await verify(1);
  expect(first).toMatchObject({ verify_ok: true, to: seq, age_seconds: 0 });
  // A new verification would find this. The chain is not read again.
  const mend = await damageHash(service.db, seq);
  expect(await verify(0)).toEqual({ ...first, age_seconds: reused });
  for (const protocol of ["grpc", "grpc-web", "connect"] as const) {
    const reply = await service.connect(LedgerService, protocol).verifyChain({ from: 1n });
    expect(reply).toMatchObject({ verifyOk: true, ageSeconds: reused });
  }
  await mend();
});

it("a report holds for later parts of the chain, and not for earlier ones", async () => {
  await seal();
  await verify(2);
  expect(await verify(3)).toMatchObject({ from: 3, count: seq - 2, age_seconds: reused });
  expect(await verify(1)).toMatchObject({ from: 1, count: seq, age_seconds: 0 });
  expect(await verify(2)).toMatchObject({ from: 2, count: seq - 1, age_seconds: reused });
});

it("a receipt that was sealed after the report is verified", async () => {
  await seal();
  await verify(1);
  await seal();
  expect(await verify(1)).toMatchObject({ to: seq, count: seq, age_seconds: 0 });
});

it("a report of a fault is not reused", async () => {
  await seal();
  const mend = await damageHash(service.db, seq);
  expect(await verify(1)).toMatchObject({ verify_ok: false, broken_at: seq, age_seconds: 0 });
  expect(await verify(1)).toMatchObject({ verify_ok: false, broken_at: seq, age_seconds: 0 });
  await mend();
});

it("a report is forgotten after a while", async () => {
  const forgetful = await startLedger({ db: service.db, overrides: { verificationAgeMs: 50 } });
  await seal();
  expect(await verify(1, forgetful)).toMatchObject({ verify_ok: true });
  const mend = await damageHash(service.db, seq);
  await expect
    .poll(() => verify(1, forgetful), { timeout: 50_000 })
    .toMatchObject({ verify_ok: false, broken_at: seq });
  await mend();
});

it("the seal of a day runs its own verification, which raises the alarm", async () => {
  await seal();
  expect(await verify(1)).toMatchObject({ verify_ok: true });
  await damageHash(service.db, seq);
  clock.set("2026-01-06T12:00:00Z");
  await waitUntil("the day", async () => (await service.rest(`house/receipts/${seq + 1}`)).status === 200);
  const { receipt } = (await service.rest(`house/receipts/${seq + 1}`)).body;
  expect(receipt.document.body).toMatchObject({ type: "daily", verify_ok: false });
  await waitUntil("the alarm", async () =>
    new RegExp(`receipt ${seq}\\b.*wrong_hash`).test((await service.rest("/readyz")).body.warning),
  );
});
