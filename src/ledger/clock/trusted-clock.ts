import { uptime } from "node:os";
import { toleranceMs } from "./tolerance.ts";

/** The clocks of a machine; each gives milliseconds. */
export interface Clocks {
  /** Since 1970 (UTC), as the system has it. It can be set, and so jump. */
  wall(): number;
  /** Since an arbitrary moment; it never jumps. It may stand still while the machine sleeps. */
  steady(): number;
  /** Since the machine was started, with the time that it slept. Reading it takes long. */
  uptime(): number;
}

const systemClocks: Clocks = {
  wall: Date.now,
  steady: () => performance.now(),
  uptime: () => uptime() * 1000,
};

/** Clocks that all follow `now`, so that they always agree. */
export function clocksOf(now: () => number): Clocks {
  return { wall: now, steady: now, uptime: now };
}

/** One reading of the database's clock. */
export interface Reading {
  /** The steady clock before and after the reading. */
  before: number;
  after: number;
  /** What it said, in milliseconds since 1970 (UTC). */
  databaseMs: number;
  /** Whether the machine's wall clock said about the same. */
  agrees: boolean;
}

/** The database's clock has jumped if it has moved further than this against the steady clock, in milliseconds. */
const maxJumpMs = 3_600_000;
/** A shorter sleep of the machine is ignored, in milliseconds. */
const minSleepMs = 60_000;

/**
 * The time of the service: the database's clock, which all replicas share, continued by the machine's steady clock from one
 * reading to the next. The machine's wall clock only tells whether the database's clock can be trusted. So everything
 * expires on all replicas at the same time, and a wall clock that is wrong for a few seconds has no effect.
 *
 * The time never goes back: if the database's clock is set back, the time runs at half speed until both agree.
 */
export class TrustedClock {
  readonly #clocks: Clocks;
  /** Both clocks at the time of construction. */
  readonly #origin: { steady: number; wall: number };
  /**
   * `offset` is `time - steady` at the steady time `since`. Then the time is `ahead` milliseconds ahead of the database's, and
   * runs slowly until it has lost them.
   */
  #course: { offset: number; ahead: number; since: number };
  /** The clocks when the time last followed the database's; undefined before the first reading. */
  #followed: { steady: number; uptime: number } | undefined;
  #isTrusted = false;

  constructor(clocks: Clocks = systemClocks) {
    this.#clocks = clocks;
    this.#origin = { steady: clocks.steady(), wall: clocks.wall() };
    this.#course = { offset: this.#origin.wall - this.#origin.steady, ahead: 0, since: this.#origin.steady };
  }

  /** The time in milliseconds since 1970 (UTC). Before the first reading it is the wall clock's. */
  readonly now = (): number => {
    const steady = this.#clocks.steady();
    return Math.round(steady + this.#offsetAt(steady));
  };

  /** A time for measuring durations, in milliseconds. It starts at the wall clock's time and never jumps. */
  readonly steadyNow = (): number => Math.round(this.#origin.wall + this.steadyMs - this.#origin.steady);

  /** The steady clock, in milliseconds. */
  get steadyMs(): number {
    return this.#clocks.steady();
  }

  /** The wall clock, right or wrong, in milliseconds since 1970 (UTC). */
  get wallMs(): number {
    return this.#clocks.wall();
  }

  /** From now on, large changes are jumps. Call this when other clocks confirm that the time is right. */
  trust(): void {
    this.#isTrusted = true;
  }

  /** From now on, no change is a jump. Call this when the time may be wrong: a clock that is set right does not jump. */
  distrust(): void {
    this.#isTrusted = false;
  }

  /**
   * Follows the database's clock, unless that differs from both the time and the wall clock, or has jumped.
   * @returns the jump that was not followed, ahead if positive, in milliseconds; 0 if there was none
   */
  follow({ before, after, databaseMs, agrees }: Reading): number {
    const offset = this.#offsetAt(after);
    // The database's clock was read at some moment between the two.
    const right = Math.min(Math.max(offset, databaseMs - after), databaseMs - before);
    const isLarge = this.#followed !== undefined && Math.abs(right - offset) > toleranceMs;
    if (isLarge && !agrees) return 0;
    const uptime = this.#clocks.uptime();
    if (isLarge && this.#isTrusted) {
      const jump = right - offset - this.#sleptMs(after, uptime);
      if (Math.abs(jump) > maxJumpMs) return jump;
    }
    const ahead = isLarge && !this.#isTrusted ? 0 : Math.max(offset - right, 0);
    this.#course = { offset: right + ahead, ahead, since: after };
    this.#followed = { steady: after, uptime };
    return 0;
  }

  #offsetAt(steady: number): number {
    const { offset, ahead, since } = this.#course;
    return offset - Math.min(Math.max(steady - since, 0) / 2, ahead);
  }

  /** The steady clock may have stood still while the machine slept. The uptime shows whether it did. */
  #sleptMs(steady: number, uptime: number): number {
    const { steady: steadyBefore, uptime: uptimeBefore } = this.#followed ?? { steady, uptime };
    const sleptMs = uptime - uptimeBefore - (steady - steadyBefore);
    return sleptMs > minSleepMs ? sleptMs : 0;
  }
}
