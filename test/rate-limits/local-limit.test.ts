import { expect, it } from "vitest";
import { LocalLimit } from "../../src/rate-limits/local-limit.ts";
import { Policy } from "../../src/rate-limits/policy.ts";

const policy = new Policy("reads", { calls: 3, windowSeconds: 3 });
const start = 1_800_000_000_000;

function makeLimit(capacity?: number) {
  const clock = { now: start };
  return { clock, limit: new LocalLimit(policy, () => clock.now, capacity) };
}

it("each caller is counted separately", () => {
  const { limit } = makeLimit();
  for (let i = 0; i < 10; i++) limit.spend("flood");
  expect(limit.spend("flood").allowed).toBe(false);
  expect(limit.spend("calm")).toMatchObject({ allowed: true, remaining: 2 });
});

it("a look spends nothing and gives the same decision as a charge", () => {
  const { clock, limit } = makeLimit();
  expect(limit.check("a")).toEqual({ allowed: true, remaining: 3, wait: 0 });
  expect(limit.check("a")).toEqual({ allowed: true, remaining: 3, wait: 0 });
  limit.spend("a");
  expect(limit.check("a")).toEqual({ allowed: true, remaining: 2, wait: 1_000_000 });
  limit.spend("a");
  limit.spend("a");
  expect(limit.check("a")).toEqual({ allowed: false, remaining: 0, wait: 1_000_000 });
  clock.now += 999;
  expect(limit.check("a").allowed).toBe(false);
  clock.now += 1;
  expect(limit.check("a")).toMatchObject({ allowed: true, remaining: 1 });
  clock.now += 2000;
  expect(limit.check("a")).toEqual({ allowed: true, remaining: 3, wait: 0 });
});

it("a clock that is set back grants no calls and causes no longer wait", () => {
  const { clock, limit } = makeLimit();
  for (let i = 0; i < 3; i++) limit.spend("a");
  clock.now -= 86_400_000;
  expect(limit.check("a")).toMatchObject({ allowed: false, wait: 1_000_000 });
  expect(limit.spend("a")).toMatchObject({ allowed: false, wait: 1_000_000 });
  clock.now += 1000;
  expect(limit.spend("a").allowed).toBe(true);
  expect(limit.spend("a").allowed).toBe(false);
});

it("a look restarts the wait when the clock was set back", () => {
  const { clock, limit } = makeLimit();
  for (let i = 0; i < 3; i++) limit.spend("a");
  clock.now -= 86_400_000;
  expect(limit.check("a")).toMatchObject({ allowed: false, wait: 1_000_000 });
  clock.now += 1000;
  expect(limit.check("a")).toMatchObject({ allowed: true, remaining: 1 });
});

it("a bounded number of callers is remembered, and a caller that keeps calling is not forgotten", () => {
  const { limit } = makeLimit(1000);
  for (let i = 0; i < 3; i++) for (const name of ["flood", "once"]) limit.spend(name);
  for (let i = 0; i < 20_000; i++) {
    limit.spend(`passer-by ${i}`);
    if (i % 100 === 0) expect(limit.spend("flood").allowed).toBe(false);
  }
  expect(limit.check("once").remaining).toBe(3);
});
