import { describe, expect, it } from "vitest";
import { TrustedClock } from "../../../src/ledger/clock/trusted-clock.ts";

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const years = 3 * 365 * 24 * hour;
const start = Date.parse("2026-03-01T12:00:00Z");

/** A machine and a database whose clocks a test can move. */
class Machine {
  wallMs = start;
  databaseMs = start;
  steadyMs = 5_000;
  uptimeMs = 90_000;
  readonly clock = new TrustedClock({
    wall: () => this.wallMs,
    steady: () => this.steadyMs,
    uptime: () => this.uptimeMs,
  });

  pass(ms: number): void {
    this.sleep(ms);
    this.steadyMs += ms;
  }

  /** The steady clock stands still meanwhile. */
  sleep(ms: number): void {
    this.wallMs += ms;
    this.databaseMs += ms;
    this.uptimeMs += ms;
  }

  /** Reads the database's clock, which takes `ms`. */
  read({ agrees = true, ms = 0 } = {}): number {
    const before = this.steadyMs;
    this.pass(ms);
    return this.clock.follow({ before, after: this.steadyMs, databaseMs: this.databaseMs, agrees });
  }
}

function startTrusted() {
  const machine = new Machine();
  machine.read();
  machine.clock.trust();
  return { machine, clock: machine.clock };
}

describe("the trusted clock", () => {
  it("goes by the database's clock, whatever the machine's says", () => {
    const { machine, clock } = startTrusted();
    machine.wallMs -= 20 * second;
    machine.pass(10 * hour);
    expect(clock.now()).toBe(machine.databaseMs);
    machine.databaseMs += 20 * second;
    machine.read();
    expect(clock.now()).toBe(machine.databaseMs);
  });

  it("does not go back: it runs at half the pace until the database's clock, set back, has caught up", () => {
    const { machine, clock } = startTrusted();
    machine.databaseMs -= 20 * second;
    machine.read();
    expect(clock.now()).toBe(start);
    machine.pass(20 * second);
    machine.read();
    expect(clock.now()).toBe(start + 10 * second);
    machine.pass(20 * second);
    expect(clock.now()).toBe(machine.databaseMs);
    machine.pass(hour);
    expect(clock.now()).toBe(machine.databaseMs);
  });

  it("is not moved by readings that take long", () => {
    const { machine, clock } = startTrusted();
    machine.read({ ms: 8 * second });
    expect(clock.now()).toBe(start + 8 * second);
  });

  it("does not follow a jump of the database's clock by more than an hour", () => {
    const { machine, clock } = startTrusted();
    const jump = -hour - 1;
    machine.databaseMs += jump;
    machine.pass(3 * second);
    expect([machine.read(), clock.now()]).toEqual([jump, start + 3 * second]);
    machine.databaseMs -= jump;
    expect([machine.read(), clock.now()]).toEqual([0, start + 3 * second]);
  });

  it("does not follow the database's clock where the machine's disagrees, except at the start", () => {
    const machine = new Machine();
    machine.databaseMs += years;
    machine.read({ agrees: false });
    expect(machine.clock.now()).toBe(start + years);
    machine.databaseMs -= 2 * minute;
    machine.read({ agrees: false });
    expect(machine.clock.now()).toBe(start + years);
  });

  it("does not mistake the sleep of a machine for a jump", () => {
    const { machine, clock } = startTrusted();
    for (let nights = 0; nights < 3; nights++) {
      machine.pass(10 * hour);
      machine.sleep(8 * hour);
      expect([machine.read(), clock.now()]).toEqual([0, machine.databaseMs]);
    }
    machine.sleep(8 * hour);
    machine.databaseMs += years;
    expect(machine.read()).toBe(years);
  });

  it("follows every change before trust is called", () => {
    const { machine, clock } = startTrusted();
    clock.distrust();
    for (const change of [years, -years]) {
      machine.databaseMs += change;
      expect([machine.read(), clock.now()]).toEqual([0, machine.databaseMs]);
    }
  });
});
