import { describe, expect, it } from "vitest";
import { waitUntil } from "../../support/wait.ts";
import { type LedgerUnderTest, refusal, verifyLedger, warningOf } from "../support.ts";
import { beginLedger, held, sealedDays, startGuarded, Times } from "./times.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const years = 3 * 365 * day;

async function metricsOf(service: LedgerUnderTest): Promise<string> {
  return (await fetch(service.app.metricsUrl as string)).text();
}

/** Posts with the same idempotency key each time. */
function postOnce(service: LedgerUnderTest, key: string) {
  return service.rest("posts", { key, body: { title: "Once" }, headers: { "idempotency-key": "the-only-one-of-all" } });
}

function doubts(service: LedgerUnderTest) {
  return service.log.filter(({ msg }) => String(msg).startsWith("the clock is "));
}

const times = new Times();
const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
/** Tests leave its clocks as they should be. */
const { service } = await startGuarded(times, { config: { metrics } });

describe("while the wall clock has jumped", () => {
  it.each([years, -years])("nothing is sealed for the three seconds of a jump by %i ms", async (jump) => {
    const before = doubts(service).length;
    await service.seal();
    times.set(jump);
    times.pass(3_000);
    expect(await refusal(service.seal())).toEqual(held);
    await waitUntil("the log", () => doubts(service).length > before);
    // The time of the service does not follow the jump, so what is due still expires.
    const said = {
      level: 50,
      msg: "the clock is in doubt: nothing is sealed",
      reason: expect.stringContaining("jumped"),
    };
    expect(doubts(service)[before]).toMatchObject(said);
    expect(await warningOf(service)).toMatch(/jumped (ahead|back) by 1095 d 0 h/);
    expect(await service.db.rows("SELECT 1 FROM ledger_days")).toEqual([]);

    times.set(-jump);
    const receipt = await service.seal();
    expect(receipt.document?.ts).toBe(new Date(times.wallMs).toISOString());
    // A comparison that is under way while the clock is set right may find a last difference.
    await waitUntil("the end of the doubt", async () => (await warningOf(service)) === undefined);
    await waitUntil("the log", () => doubts(service).at(-1)?.msg === "the clock is no longer in doubt");
    await verifyLedger(service.db);
  });

  it("timestamps of the board and stored responses are unaffected", async () => {
    const { key } = await service.register();
    const first = await postOnce(service, key);
    times.set(years);
    times.pass(3_000);
    const now = new Date(times.wallMs - years).toISOString();
    const second = await postOnce(service, key);
    expect([second.body.post.id, second.headers.get("idempotency-replayed")]).toEqual([first.body.post.id, "true"]);
    const other = await service.rest("posts", { key, body: { title: "Another" } });
    expect(other.body.post.created_at).toBe(now);
    expect(await service.db.rows("SELECT 1 FROM idempotency_replies")).toHaveLength(1);
    times.set(-years);
  });

  it("no rate limit is reset", async () => {
    const quota = { calls: 2, windowSeconds: 3600 };
    const { defaultQuotas } = await import("../../../src/rate-limits/quota.ts");
    const { service, times } = await startGuarded(new Times(), {
      config: { rateLimits: { ...defaultQuotas, posts: quota, reads: quota } },
    });
    const { key } = await service.register();
    const post = async () => (await service.rest("posts", { key, body: { title: "A title" } })).status;
    const read = async () => (await service.rest("posts")).status;
    expect([await post(), await post(), await post()]).toEqual([201, 201, 429]);
    for (let calls = 0; (await read()) === 200; calls++) expect(calls).toBeLessThan(3);
    for (const jump of [years, -2 * years]) {
      times.set(jump);
      expect([await post(), await read()]).toEqual([429, 429]);
    }
  });
});

describe("while the clock differs from the database's", () => {
  it.each([61_000, -61_000])(
    "nothing is sealed while it is off by %i ms, and sealing continues by itself",
    async (off) => {
      times.databaseMs -= off;
      times.pass(minute);
      expect(await refusal(service.seal())).toEqual(held);
      expect(await warningOf(service)).toMatch(/^The service's clock is .* (ahead of|behind) the database's/);
      expect(await metricsOf(service)).toContain('stoa_warning{name="clock"} 1');
      times.databaseMs += off;
      await waitUntil("the end of the doubt", async () => (await warningOf(service)) === undefined);
      await service.seal();
    },
  );

  it("a difference of up to 60 s is accepted; from 2 s on the operator is told", async () => {
    const told = async () => {
      const text = await metricsOf(service);
      const value = (name: string) => Number(new RegExp(`^${name} (.*)$`, "m").exec(text)?.[1]);
      return [value('stoa_warning{name="clock_difference"}'), value("stoa_clock_difference_seconds")];
    };
    for (const [databaseMs, warning] of [
      [minute, "The service's clock is 1 min 0 s behind the database's."],
      [-minute, "The service's clock is 1 min 0 s ahead of the database's."],
      [2_000, undefined],
    ] as const) {
      times.databaseMs += databaseMs;
      await service.seal();
      const text = await warningOf(service);
      expect(text).toEqual(warning && expect.stringContaining(warning));
      expect(await told()).toEqual([warning === undefined ? 0 : 1, -databaseMs / 1000]);
      times.databaseMs -= databaseMs;
    }
    await service.seal();
  });

  it("the difference is found within a minute, although nothing is sealed", async () => {
    times.databaseMs += 2 * minute;
    times.pass(minute);
    await waitUntil("the warning", async () => (await warningOf(service)) !== undefined);
    times.databaseMs -= 2 * minute;
    await waitUntil("the end of the doubt", async () => (await warningOf(service)) === undefined);
  });

  it("receipt 1 is not sealed", async () => {
    const times = new Times();
    times.databaseMs -= day;
    await expect(startGuarded(times)).rejects.toThrow(
      "Nothing is sealed now: The service's clock is 1 d 0 h ahead of the database's",
    );
  });

  it("a jump that sets the clock right is accepted", async () => {
    times.databaseMs += 8 * hour;
    times.pass(minute);
    expect(await refusal(service.seal())).toEqual(held);
    times.wallMs += 8 * hour;
    await service.seal();
  });

  it("no stored response expires, and nothing is swept", async () => {
    const { key } = await service.register();
    const first = await postOnce(service, key);
    // At a start, nothing shows that the clock has jumped.
    const ahead = new Times(new Date(times.wallMs).toISOString());
    ahead.wallMs += 2 * day;
    const { service: next } = await startGuarded(ahead, { db: service.db });
    expect(await warningOf(next)).toContain("ahead of the database's");
    const second = await postOnce(next, key);
    expect([second.body.post.id, second.headers.get("idempotency-replayed")]).toEqual([first.body.post.id, "true"]);
  });
});

it("three missed days are sealed at a start; more of them block all sealing", async () => {
  const db = await beginLedger("2026-03-01T12:00:00Z");
  const three = await startGuarded(new Times("2026-03-04T12:00:00Z"), { db });
  await waitUntil("three days", async () => (await sealedDays(db)).length === 3);
  await three.service.app.close();

  const { service: next } = await startGuarded(new Times("2026-03-08T12:00:00Z"), { db });
  expect(await refusal(next.seal())).toEqual(held);
  expect(await refusal(next.sealDaily("2026-03-04"))).toEqual(held);
  expect(await warningOf(next)).toContain("4 missed days (2026-03-04 to 2026-03-07) would be sealed at once");
  await waitUntil("the daily clock", () => next.log.some(({ msg }) => msg === "nothing is sealed"));
  expect(await sealedDays(db)).toHaveLength(3);
});
