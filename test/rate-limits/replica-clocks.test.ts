// Replicas whose clocks differ share the limits of writes: within the tolerance, no clock grants extra calls.
import { expect, it } from "vitest";
import { Clock, type Limited, startLimited } from "../support/limited.ts";

const quotas = { posts: { calls: 3, windowSeconds: 60 } };

const behind = await startLimited(quotas);
const ahead = await startLimited(quotas, { clock: new Clock(), db: behind.db });

/** Sets the clock of one replica so many milliseconds ahead, with an agent that has not written yet. */
async function setApart(aheadMs: number) {
  behind.clock.pass(3600);
  ahead.clock.now = behind.clock.now + aheadMs;
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
  return { pass, post };
}

it("30 s apart: the later clock's calls count on the other replica, which announces its own longer wait", async () => {
  const { pass, post } = await setApart(30_000);
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
  const { post } = await setApart(30_000);
  for (let count = 0; count < 3; count++) expect(await post(behind)).toBe(0);
  expect(await post(behind)).toBe(20);
  expect(await post(ahead)).toBe(0);
  expect(await post(ahead)).toBe(10);
  expect(await post(behind)).toBe(40);
});

it("a minute apart is tolerated to the millisecond; more counts as a clock that was set back", async () => {
  const tolerated = await setApart(60_000);
  for (let count = 0; count < 3; count++) await tolerated.post(ahead);
  expect(await tolerated.post(behind)).toBe(80);
  expect(await tolerated.post(ahead)).toBe(20);

  const beyond = await setApart(60_001);
  for (let count = 0; count < 3; count++) await beyond.post(ahead);
  expect(await beyond.post(behind)).toBe(20);
  beyond.pass(20);
  expect(await beyond.post(behind)).toBe(0);
});
