import { uptime } from "node:os";

/** The clocks of a machine; each gives milliseconds. */
export interface Clocks {
  /** Since 1970 (UTC), as the system has it. It can be set, and so jump. */
  wall(): number;
  /** Since some moment; never jumps. It may stand still while the machine sleeps. */
  steady(): number;
  /** Since the machine was started, with the time that it slept. Reading it takes long. */
  uptime(): number;
}

const systemClocks: Clocks = {
  wall: Date.now,
  steady: () => performance.now(),
  uptime: () => uptime() * 1000,
};

/** Clocks that all follow `now`, so that none of them jumps against another. */
export function clocksOf(now: () => number): Clocks {
  return { wall: now, steady: now, uptime: now };
}

/** A larger change of the wall clock against the steady clock is a jump and not a correction; in milliseconds. */
const maxJumpMs = 3_600_000;
/** How often the uptime is read while the clock has jumped, in milliseconds. */
const uptimeLookMs = 1_000;
/** A shorter sleep of the machine is ignored, in milliseconds. */
const minSleepMs = 60_000;

/**
 * The time of the service. It is the wall clock's time, unless the wall clock jumps by more than an hour against the
 * steady clock. The time then continues at the steady clock's pace until the wall clock is set back. So a clock that is
 * wrong for a few seconds affects no timestamp, no limit and no expiry.
 *
 * Jumps are detected only after `trust` was called, and until `distrust` is called.
 */
export class TrustedClock {
  readonly #clocks: Clocks;
  /** Both clocks at the time of construction. */
  readonly #origin: { steady: number; wall: number };
  /**
   * The clocks when `trust` was called, and `wall - steady` then. A later sleep of the machine is added to `offset`.
   */
  #reference: { offset: number; steady: number; uptime: number } | undefined;
  /** `wall - steady` when the clocks last agreed. */
  #offset = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(clocks: Clocks = systemClocks) {
    this.#clocks = clocks;
    this.#origin = { steady: clocks.steady(), wall: clocks.wall() };
  }

  /** The time in milliseconds since 1970 (UTC). */
  readonly now = (): number => this.#timeAt(this.#clocks.wall());

  /** A time for measuring durations, in milliseconds. It starts at the wall clock's time and never jumps. */
  readonly steadyNow = (): number => Math.round(this.#origin.wall + this.#clocks.steady() - this.#origin.steady);

  /** By how many milliseconds the wall clock has jumped ahead, or back if negative; 0 if it has not jumped. */
  get jumpMs(): number {
    const wall = this.#clocks.wall();
    return wall - this.#timeAt(wall);
  }

  /** The wall clock, right or wrong, in milliseconds since 1970 (UTC). */
  get wallMs(): number {
    return this.#clocks.wall();
  }

  /** Detects jumps from now on. Call this when other clocks confirm that the wall clock is right. */
  trust(): void {
    if (this.#reference !== undefined) return;
    const steady = this.#clocks.steady();
    this.#offset = this.#clocks.wall() - steady;
    this.#reference = { offset: this.#offset, steady, uptime: this.#clocks.uptime() };
  }

  /** Stops detecting jumps. Call this when the wall clock may be wrong: setting it right is no jump. */
  distrust(): void {
    this.#reference = undefined;
  }

  #timeAt(wall: number): number {
    if (this.#reference === undefined) return wall;
    const steady = this.#clocks.steady();
    const offset = wall - steady;
    if (this.#agrees(offset) || this.#agreesAfterSleep(steady, offset)) {
      this.#offset = offset;
      return wall;
    }
    return Math.round(steady + this.#offset);
  }

  #agrees(offset: number): boolean {
    return Math.abs(offset - (this.#reference?.offset ?? offset)) <= maxJumpMs;
  }

  /** The steady clock may have stood still while the machine slept. The uptime shows whether it did. */
  #agreesAfterSleep(steady: number, offset: number): boolean {
    const reference = this.#reference;
    if (reference === undefined || steady - this.#lookedAt < uptimeLookMs) return false;
    this.#lookedAt = steady;
    const up = this.#clocks.uptime();
    const sleptMs = up - reference.uptime - (steady - reference.steady);
    if (sleptMs > minSleepMs) {
      this.#reference = { offset: reference.offset + sleptMs, steady, uptime: up };
      this.#offset += sleptMs;
    }
    return this.#agrees(offset);
  }
}
