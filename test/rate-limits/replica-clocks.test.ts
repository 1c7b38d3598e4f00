// Replicas whose clocks differ share the limits of writes: within the tolerance, no clock grants extra calls.
import { expect, it } from "vitest";
import { Clock, type Limited, startLimited } from "../support/limited.ts";

const quotas = { posts: { calls: 3, windowSeconds: 60 } };

/** Two replicas; the clock of the first is ahead by so many milliseconds. */
async function startApart(aheadMs: number) {
  // The ledger begins with the earlier clock.
  const behind = await startLimited(quotas);
  const clock = new Clock();
  clock.now += aheadMs;
  const ahead = await startLimited(quotas, { clock, db: behind.db });
  const { key } = await behind.register();
  const pass = (seconds: number) => {
    ahead.clock.pass(seconds);
    behind.clock.pass(seconds);
  };
  /** Posts at a replica. @returns 0 where it is allowed, or else the seconds to wait */
  const post = async (at: Limited): Promise<number> => {
    const { status, body } = await at.rest("posts", { key, body: { title: "Again" } });
    if (status === 201) return 0;
    expect(body).toMatchObject({ error: "rate_limited" });
    return body.retry_after_seconds;
  };
  return { ahead, behind, pass, post };
}

it("30 s apart: the later clock's calls count on the other replica, which announces its own longer wait", async () => {
  const { ahead, behind, pass, post } = await startApart(30_000);
  for (let count = 0; count < 3; count++) expect(await post(ahead)).toBe(0);
  expect(await post(ahead)).toBe(20);
  expect(await post(behind)).toBe(50);
  // The refusals have changed nothing.
  expect(await post(ahead)).toBe(20);
  expect(await post(behind)).toBe(50);
  pass(20);
  expect(await post(ahead)).toBe(0);
  expect(await post(behind)).toBe(50);
  pass(50);
  expect(await post(behind)).toBe(0);
});

it("30 s apart: the earlier clock's calls count on the other replica as 30 s old", async () => {
  const { ahead, behind, post } = await startApart(30_000);
  for (let count = 0; count < 3; count++) expect(await post(behind)).toBe(0);
  expect(await post(behind)).toBe(20);
  expect(await post(ahead)).toBe(0);
  expect(await post(ahead)).toBe(10);
  expect(await post(behind)).toBe(40);
});

it("a minute apart is tolerated to the millisecond; more counts as a clock that was set back", async () => {
  const tolerated = await startApart(60_000);
  for (let count = 0; count < 3; count++) await tolerated.post(tolerated.ahead);
  expect(await tolerated.post(tolerated.behind)).toBe(80);
  expect(await tolerated.post(tolerated.ahead)).toBe(20);

  const beyond = await startApart(60_001);
  for (let count = 0; count < 3; count++) await beyond.post(beyond.ahead);
  expect(await beyond.post(beyond.behind)).toBe(20);
  beyond.pass(20);
  expect(await beyond.post(beyond.behind)).toBe(0);
});
