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

export const systemClocks: Clocks = {
  wall: Date.now,
  steady: () => performance.now(),
  uptime: () => uptime() * 1000,
};

/** Clocks that all follow one, so that none ever jumps. */
export function clocksOf(now: () => number): Clocks {
  return { wall: now, steady: now, uptime: now };
}

/** A difference of the wall clock from the steady one that is larger than this is no correction of a clock. */
export const maxJumpMs = 3_600_000;
/** How often the uptime is read while the clock has jumped, in milliseconds. */
const uptimeLookMs = 1_000;
/** A sleep of the machine that is shorter than this needs no account, in milliseconds. */
const minSleepMs = 60_000;

/**
 * The time of the service. It is the wall clock's, unless that jumps by more than an hour against the steady clock: then it
 * goes on evenly, as if nothing had happened, until the wall clock is set back. Nothing that the service stamps, counts or
 * forgets follows a clock that is wrong for a few seconds.
 *
 * Where nothing vouches for the wall clock yet (`trust` was not called, or `distrust` was), no jump can be told.
 */
export class TrustedClock {
  readonly #clocks: Clocks;
  /** The steady clock when this was made, and the wall clock then. */
  readonly #origin: { steady: number; wall: number };
  /** The clocks when the wall clock was last vouched for, and `wall - steady` then. A sleep since is added to `offset`. */
  #reference: { offset: number; steady: number; uptime: number } | undefined;
  /** `wall - steady` when they last agreed. */
  #offset = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;

  constructor(clocks: Clocks = systemClocks) {
    this.#clocks = clocks;
    this.#origin = { steady: clocks.steady(), wall: clocks.wall() };
  }

  /** The time in milliseconds since 1970 (UTC). */
  readonly now = (): number => this.#timeAt(this.#clocks.wall());

  /** Even time for spans, in milliseconds: it starts at the wall clock's of the start of the service, and is never set. */
  readonly even = (): number => Math.round(this.#origin.wall + this.#clocks.steady() - this.#origin.steady);

  /** By how much the wall clock has jumped ahead of the time, or (negative) back; in milliseconds, 0 where it has not. */
  get jumpMs(): number {
    const wall = this.#clocks.wall();
    return wall - this.#timeAt(wall);
  }

  /** The wall clock, right or wrong, in milliseconds since 1970 (UTC). */
  get wallMs(): number {
    return this.#clocks.wall();
  }

  /** From now on jumps are told. To be called when other clocks say that the wall clock is right. */
  trust(): void {
    if (this.#reference !== undefined) return;
    const steady = this.#clocks.steady();
    this.#offset = this.#clocks.wall() - steady;
    this.#reference = { offset: this.#offset, steady, uptime: this.#clocks.uptime() };
  }

  /** The wall clock is known to be wrong, or may be: whatever it is set to next is no jump. */
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

  /** The steady clock may have stood still while the machine slept, which the uptime tells. */
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
