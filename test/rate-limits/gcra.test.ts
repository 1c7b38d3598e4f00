import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { advance, afterClock, decide, type Rate } from "../../src/rate-limits/gcra.ts";
import { Policy } from "../../src/rate-limits/policy.ts";
import { defaultQuotas, limitNames } from "../../src/rate-limits/quota.ts";

/** The algorithm as its users run it, with a clock that is set by the test. */
class Caller {
  readonly rate: Rate;
  arrival = 0;

  constructor(rate: Rate) {
    this.rate = rate;
  }

  call(now: number) {
    const arrival = afterClock(this.rate, this.arrival, now);
    const advanced = advance(this.rate, arrival, now);
    const decision = decide(this.rate, advanced, now);
    this.arrival = decision.allowed ? advanced : arrival;
    return decision;
  }
}

const rates = fc.record({ burst: fc.integer({ min: 1, max: 50 }), interval: fc.integer({ min: 1, max: 90_000_000 }) });
const start = 1_800_000_000_000_000;

/** Gaps between calls, as parts of the interval: floods, steady calls and long silences. */
const gaps = fc.array(
  fc.oneof(fc.constant(0), fc.double({ min: 0, max: 3, noNaN: true }), fc.integer({ min: 0, max: 80 })),
  {
    minLength: 1,
    maxLength: 150,
  },
);

describe("the generic cell rate algorithm", () => {
  it("never allows more than the burst and the regained calls in any window", () => {
    fc.assert(
      fc.property(rates, gaps, (rate, gaps) => {
        const caller = new Caller(rate);
        const allowed: number[] = [];
        let now = start;
        for (const gap of gaps) {
          now += Math.floor(gap * rate.interval);
          if (caller.call(now).allowed) allowed.push(now);
        }
        for (let from = 0; from < allowed.length; from++) {
          for (let to = from; to < allowed.length; to++) {
            const elapsed = (allowed[to] as number) - (allowed[from] as number);
            expect(to - from + 1).toBeLessThanOrEqual(rate.burst + Math.floor(elapsed / rate.interval));
          }
        }
      }),
    );
  });

  it("never refuses calls at the steady rate or slower", () => {
    fc.assert(
      fc.property(rates, fc.array(fc.nat(1_000_000), { minLength: 1, maxLength: 300 }), (rate, delays) => {
        const caller = new Caller(rate);
        let now = start;
        for (const delay of delays) {
          expect(caller.call(now).allowed).toBe(true);
          now += rate.interval + delay;
        }
      }),
    );
  });

  it("allows the announced remaining calls, then refuses with an exact wait", () => {
    fc.assert(
      fc.property(rates, gaps, (rate, gaps) => {
        const caller = new Caller(rate);
        let now = start;
        for (const gap of gaps) {
          now += Math.floor(gap * rate.interval);
          caller.call(now);
        }
        let last = caller.call(now);
        for (let left = last.remaining; left > 0; left--) {
          last = caller.call(now);
          expect(last).toMatchObject({ allowed: true, remaining: left - 1 });
        }
        const refused = caller.call(now);
        expect(refused).toMatchObject({ allowed: false, remaining: 0 });
        expect(refused.wait).toBe(last.allowed ? last.wait : refused.wait);
        expect(caller.call(now + refused.wait - 1).allowed).toBe(false);
        expect(caller.call(now + refused.wait).allowed).toBe(true);
      }),
    );
  });

  it("grants no extra calls when the clock is set back, and the wait is then at most one interval", () => {
    const steps = fc.array(fc.tuple(fc.integer({ min: -100, max: 60 }), fc.integer({ min: 1, max: 5 })), {
      maxLength: 60,
    });
    fc.assert(
      fc.property(rates, steps, (rate, steps) => {
        const caller = new Caller(rate);
        let now = start;
        let forward = 0;
        let allowed = 0;
        for (const [step, calls] of steps) {
          now += step * rate.interval;
          forward += Math.max(0, step);
          for (let i = 0; i < calls; i++) {
            const decision = caller.call(now);
            if (decision.allowed) allowed += 1;
            else expect(decision.wait).toBeLessThanOrEqual(rate.interval);
          }
        }
        expect(allowed).toBeLessThanOrEqual(rate.burst + forward);
      }),
    );
  });

  it("ignores a clock difference within the tolerance", () => {
    const rate = { burst: 2, interval: 1000 };
    expect(afterClock(rate, start + 2500, start, 500)).toBe(start + 2500);
    expect(afterClock(rate, start + 2501, start, 500)).toBe(start + 2000);
  });
});

describe("a policy", () => {
  it("never allows more than its quota in its window, however the window divides", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000_000 }),
        fc.integer({ min: 1, max: 86_400 }),
        (calls, windowSeconds) => {
          const { burst, interval } = new Policy("posts", { calls, windowSeconds });
          expect(burst).toBe(calls);
          expect(burst * interval).toBeGreaterThanOrEqual(windowSeconds * 1_000_000);
          expect((interval - 1) * burst).toBeLessThan(windowSeconds * 1_000_000);
        },
      ),
    );
  });

  it("exists for each limit by default, and lets an agent work all day", () => {
    for (const name of limitNames) expect(new Policy(name, defaultQuotas[name]).interval).toBeGreaterThan(0);
    // Steadily, in a day: what the busiest of comparable boards' agents may do, and more.
    const perDay = (name: keyof typeof defaultQuotas) =>
      (86_400 * defaultQuotas[name].calls) / defaultQuotas[name].windowSeconds;
    expect(perDay("posts")).toBeGreaterThanOrEqual(240);
    expect(perDay("comments")).toBeGreaterThanOrEqual(1200);
    expect(perDay("votes")).toBeGreaterThanOrEqual(2400);
  });
});
