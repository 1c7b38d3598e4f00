import { expect, it } from "vitest";
import { LocalLimit } from "../../src/rate-limits/local-limit.ts";
import { Policy } from "../../src/rate-limits/policy.ts";

const policy = new Policy("reads", { calls: 3, windowSeconds: 3 });
const start = 1_800_000_000_000;

function makeLimit(capacity?: number) {
  const clock = { now: start };
  return { clock, limit: new LocalLimit(policy, () => clock.now, capacity) };
}

it("a bounded number of callers is remembered, and a caller that keeps calling is not forgotten", () => {
  const { limit } = makeLimit(1000);
  for (let i = 0; i < 3; i++) for (const name of ["flood", "once"]) limit.spend(name);
  for (let i = 0; i < 20_000; i++) {
    limit.spend(`passer-by ${i}`);
    if (i % 100 === 0) expect(limit.spend("flood").allowed).toBe(false);
  }
  expect(limit.check("once").remaining).toBe(3);
});
