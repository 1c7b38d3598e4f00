import { describe, expect, it } from "vitest";
import { TrustedClock } from "../../../src/ledger/clock/trusted-clock.ts";

const minute = 60_000;
const hour = 60 * minute;
const years = 3 * 365 * 24 * hour;
const start = Date.parse("2026-03-01T12:00:00Z");

/** A machine whose clocks a test can move. */
class Machine {
  wallMs = start;
  steadyMs = 5_000;
  uptimeMs = 90_000;
  readonly clocks = {
    wall: () => this.wallMs,
    steady: () => this.steadyMs,
    uptime: () => this.uptimeMs,
  };

  pass(ms: number): void {
    this.wallMs += ms;
    this.steadyMs += ms;
    this.uptimeMs += ms;
  }

  /** The steady clock stands still meanwhile. */
  sleep(ms: number): void {
    this.wallMs += ms;
    this.uptimeMs += ms;
  }
}

function startTrusted() {
  const machine = new Machine();
  const clock = new TrustedClock(machine.clocks);
  clock.trust();
  return { machine, clock };
}

describe("the trusted clock", () => {
  it("follows the wall clock while it is corrected by at most an hour", () => {
    const { machine, clock } = startTrusted();
    machine.pass(10 * hour);
    expect(clock.now()).toBe(machine.wallMs);
    machine.wallMs += hour;
    expect([clock.now(), clock.jumpMs]).toEqual([machine.wallMs, 0]);
    machine.wallMs -= 2 * hour;
    expect([clock.now(), clock.jumpMs]).toEqual([machine.wallMs, 0]);
  });

  it.each([years, -years, hour + 1, -hour - 1])(
    "follows the steady clock while the wall clock has jumped by %i ms",
    (jump) => {
      const { machine, clock } = startTrusted();
      machine.pass(minute);
      clock.now();
      machine.wallMs += jump;
      machine.pass(3_000);
      expect([clock.now(), clock.jumpMs]).toEqual([start + minute + 3_000, jump]);
      machine.wallMs -= jump;
      expect([clock.now(), clock.jumpMs]).toEqual([start + minute + 3_000, 0]);
    },
  );

  it("keeps an earlier correction during a jump", () => {
    const { machine, clock } = startTrusted();
    machine.wallMs += 10 * minute;
    clock.now();
    machine.wallMs += years;
    expect([clock.now(), clock.jumpMs]).toEqual([start + 10 * minute, years]);
  });

  it("does not mistake the sleep of a machine for a jump", () => {
    const { machine, clock } = startTrusted();
    for (let nights = 0; nights < 3; nights++) {
      machine.pass(10 * hour);
      machine.sleep(8 * hour);
      expect([clock.now(), clock.jumpMs]).toEqual([machine.wallMs, 0]);
    }
    machine.sleep(8 * hour);
    machine.wallMs += years;
    machine.pass(1_000);
    expect(clock.jumpMs).toBe(years);
  });

  it("follows every change of the wall clock before trust is called", () => {
    const { machine, clock } = startTrusted();
    clock.distrust();
    machine.wallMs += years;
    expect([clock.now(), clock.jumpMs]).toEqual([machine.wallMs, 0]);
    clock.trust();
    machine.wallMs -= years;
    expect(clock.jumpMs).toBe(-years);
  });

  it("has a steady time that does not follow the wall clock", () => {
    const { machine, clock } = startTrusted();
    machine.wallMs += years;
    machine.pass(hour);
    expect(clock.steadyNow()).toBe(start + hour);
  });
});
