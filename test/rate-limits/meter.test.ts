import { expect, it } from "vitest";
import { Meter } from "../../src/rate-limits/meter.ts";
import { Policy } from "../../src/rate-limits/policy.ts";
import { RecentMap } from "../../src/rate-limits/recent-map.ts";

const policy = new Policy("reads", { calls: 3, windowSeconds: 3 });
const start = 1_800_000_000_000;

function makeMeter(capacity?: number) {
  const clock = { now: start };
  return { clock, meter: new Meter<string>(policy, () => clock.now, capacity) };
}

it("counts each caller alone", () => {
  const { meter } = makeMeter();
  for (let i = 0; i < 10; i++) meter.charge("flood");
  expect(meter.charge("flood").allowed).toBe(false);
  expect(meter.charge("calm")).toMatchObject({ allowed: true, remaining: 2 });
});

it("looks without spending, and says what a charge would", () => {
  const { clock, meter } = makeMeter();
  expect(meter.look("a")).toEqual({ allowed: true, remaining: 3, wait: 0 });
  expect(meter.look("a")).toEqual({ allowed: true, remaining: 3, wait: 0 });
  meter.charge("a");
  expect(meter.look("a")).toEqual({ allowed: true, remaining: 2, wait: 1_000_000 });
  meter.charge("a");
  meter.charge("a");
  expect(meter.look("a")).toEqual({ allowed: false, remaining: 0, wait: 1_000_000 });
  clock.now += 999;
  expect(meter.look("a").allowed).toBe(false);
  clock.now += 1;
  expect(meter.look("a")).toMatchObject({ allowed: true, remaining: 1 });
  clock.now += 2000;
  expect(meter.look("a")).toEqual({ allowed: true, remaining: 3, wait: 0 });
});

it("grants nothing when the clock is set back, and lets nobody wait for the old time", () => {
  const { clock, meter } = makeMeter();
  for (let i = 0; i < 3; i++) meter.charge("a");
  clock.now -= 86_400_000;
  expect(meter.look("a")).toMatchObject({ allowed: false, wait: 1_000_000 });
  expect(meter.charge("a")).toMatchObject({ allowed: false, wait: 1_000_000 });
  clock.now += 1000;
  expect(meter.charge("a").allowed).toBe(true);
  expect(meter.charge("a").allowed).toBe(false);
});

it("remembers a bounded number of callers, and those that call longest", () => {
  const { meter } = makeMeter(1000);
  for (let i = 0; i < 3; i++) meter.charge("flood");
  for (let i = 0; i < 20_000; i++) {
    meter.charge(`passer-by ${i}`);
    if (i % 100 === 0) expect(meter.charge("flood").allowed).toBe(false);
    expect(meter.size).toBeLessThanOrEqual(1000);
  }
});

it("a map of recent entries keeps at least half of its capacity", () => {
  const map = new RecentMap<number, number>(10);
  for (let i = 0; i < 100; i++) map.set(i, i);
  for (let i = 95; i < 100; i++) expect(map.get(i)).toBe(i);
  expect(map.get(80)).toBeUndefined();
  expect(map.size).toBeLessThanOrEqual(10);
});
