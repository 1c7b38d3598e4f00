/*
 * The generic cell rate algorithm, as virtual scheduling (ITU-T Recommendation I.371, annex A). A caller may make `burst`
 * calls at once, and then one in every interval. One number is stored for each caller, the theoretical arrival time: the
 * time of the next call if all calls so far had come evenly. Times are whole microseconds since 1970 (UTC), so that nothing
 * is lost to rounding. The time of an unknown caller is 0.
 */

export interface Rate {
  /** How many calls may come at once, at least 1. */
  readonly burst: number;
  /** The time in which one more call becomes possible, in microseconds, at least 1. */
  readonly interval: number;
}

/** What a rate decides about a call. A decision never changes. */
export interface Decision {
  readonly allowed: boolean;
  /** How many further calls would be allowed now. */
  readonly remaining: number;
  /** The time until one more call is possible, in microseconds; for a refused call, the time until it is allowed. */
  readonly wait: number;
}

/** The theoretical arrival time after one more call. src/store/tables/limits.ts does the same in SQL. */
export function advance({ interval }: Rate, arrival: number, now: number): number {
  return Math.max(arrival, now) + interval;
}

/** Decides a call by the theoretical arrival time after it. If the call is refused, the time before it stays. */
export function decide({ burst, interval }: Rate, advanced: number, now: number): Decision {
  const spent = advanced - now;
  const most = burst * interval;
  if (spent > most) return { allowed: false, remaining: 0, wait: spent - most };
  const remaining = Math.floor((most - spent) / interval);
  return { allowed: true, remaining, wait: spent - (burst - remaining - 1) * interval };
}

/**
 * Corrects a theoretical arrival time after the clock was set back: then `arrival` is later, by more than `tolerance`
 * microseconds, than calls could have made it. All calls count as spent, and the next one waits for one interval. Otherwise
 * `arrival` is returned.
 */
export function afterClock({ burst, interval }: Rate, arrival: number, now: number, tolerance = 0): number {
  const furthest = now + burst * interval;
  return arrival > furthest + tolerance ? furthest : arrival;
}
