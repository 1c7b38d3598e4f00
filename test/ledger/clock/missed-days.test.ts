import { describe, expect, it } from "vitest";
import { LedgerOperatorService } from "../../../gen/stoa/v1/ledger_operator_service_pb.js";
import { operate } from "../../operator/support.ts";
import { untilDayLasts, waitUntil } from "../../support/wait.ts";
import { asOperator, type LedgerUnderTest, refusal, verifyLedger } from "../support.ts";
import { beginLedger, held, sealedDays, startGuarded, Times } from "./times.ts";

const day = 24 * 3_600_000;
const bad = { code: "InvalidArgument", error: "bad_input", field: "date" };

function catchUp(service: LedgerUnderTest, date: string) {
  return service.connect(LedgerOperatorService, "grpc").sealDaily({ date, catchUp: true }, asOperator);
}

const missed = ["2026-03-01", "2026-03-02", "2026-03-03", "2026-03-04", "2026-03-05", "2026-03-06"];

describe("with an operator's approval", () => {
  it("every missed day up to the date is sealed, in order, and later ones are left to the daily sealing", async () => {
    const db = await beginLedger("2026-03-01T12:00:00Z");
    const { service, times } = await startGuarded(new Times("2026-03-07T12:00:00Z"), { db });
    expect(await refusal(service.seal())).toEqual(held);
    times.databaseMs -= 61_000;
    expect(await refusal(catchUp(service, "2026-03-06"))).toEqual(held);
    times.databaseMs += 61_000;
    expect(await refusal(catchUp(service, "2026-03-07"))).toEqual(bad);
    expect(await refusal(catchUp(service, "2026-02-30"))).toEqual(bad);
    expect(await sealedDays(service.db)).toEqual([]);

    const two = await catchUp(service, "2026-03-02");
    expect(two.dates).toEqual(missed.slice(0, 2));
    expect(two.receipt?.document?.body).toMatchObject({ type: "daily", date: "2026-03-02", verify_ok: true });
    expect(await refusal(service.seal())).toEqual(held);
    const { dates } = await catchUp(service, "2026-03-06");
    // The daily sealing continues by itself as soon as three days are left.
    expect(dates[0]).toBe("2026-03-03");
    expect(dates).toEqual(missed.filter((date) => dates.includes(date)));
    expect(await sealedDays(service.db)).toEqual(missed);
    // A comparison of the clocks that is under way may still find missed days.
    await waitUntil("no warning", async () => (await service.rest("/readyz")).body.warning === undefined);
    await service.seal();
    const again = await catchUp(service, "2026-03-06");
    expect([again.dates, again.receipt]).toEqual([[], undefined]);
    await verifyLedger(service.db);
  });

  it("sealing continues at a time that is ahead of the clock, also after a restart", async () => {
    const db = await beginLedger("2029-03-01T12:00:00Z");
    const { service: next, times } = await startGuarded(new Times("2026-03-02T12:00:00Z"), { db });
    expect(await refusal(next.seal())).toEqual(held);
    expect((await next.rest("/readyz")).body.warning).toContain(
      "2029-03-01T12:00:00.000Z, is ahead of the service's clock",
    );
    expect(await refusal(catchUp(next, "2026-03-02"))).toEqual(bad);
    times.databaseMs -= 61_000;
    expect(await refusal(catchUp(next, "2026-02-28"))).toEqual(held);
    times.databaseMs += 61_000;
    expect(await refusal(next.seal())).toEqual(held);
    for (let words = 0; words < 2; words++) expect((await catchUp(next, "2026-02-28")).dates).toEqual([]);
    expect((await next.seal()).document?.ts).toBe("2029-03-01T12:00:00.000Z");
    await next.app.close();
    const { service: last } = await startGuarded(times, { db });
    await last.seal();
    expect((await last.rest("/readyz")).body).toEqual({ ok: true });
    await verifyLedger(db);
  });
});

describe("stoa seal", () => {
  it("lists the days to seal, and seals them with --catch-up", async () => {
    await untilDayLasts();
    // The command uses the clock of this machine.
    const dates = [6, 5, 4, 3, 2, 1].map((ago) => new Date(Date.now() - ago * day).toISOString().slice(0, 10));
    const db = await beginLedger(`${dates[0]}T12:00:00Z`);
    const seal = (...args: string[]) => operate(db.config, ["seal", ...args]);
    const range = `${dates[0]} to ${dates[5]}`;
    expect(await seal()).toEqual({
      status: 1,
      out: [`to be sealed: 6 days, ${range}`],
      notes: [expect.stringContaining(`6 missed days (${range}) would be sealed at once`)],
    });
    expect(await sealedDays(db)).toEqual([]);
    expect(await seal("--catch-up", "--through", "2026-02-30")).toMatchObject({ status: 3 });
    expect(await seal("--catch-up", "--through", dates[0] as string)).toMatchObject({
      status: 0,
      out: [`sealed: 1 day, ${dates[0]}`, expect.stringMatching(/^the newest receipt is 2 \([0-9a-f]{64}\)$/)],
    });
    expect(await seal("--catch-up")).toMatchObject({
      status: 0,
      out: [`sealed: 5 days, ${dates[1]} to ${dates[5]}`, expect.anything()],
    });
    expect(await seal("--catch-up")).toEqual({ status: 0, out: ["sealed: no day"], notes: [] });
    expect(await seal()).toEqual({ status: 0, out: ["to be sealed: no day"], notes: [] });
    expect(await seal("--catch-up", "now")).toMatchObject({ status: 2 });
    expect(await sealedDays(db)).toEqual(dates);
    await verifyLedger(db);
  });
});
