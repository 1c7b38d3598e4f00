/*
 * The generic cell rate algorithm, as virtual scheduling (ITU-T Recommendation I.371, annex A): a caller may make `burst`
 * calls at once, and then one in every interval. All that is kept of a caller is one number, the theoretical arrival time:
 * when the calls made so far would have come had they come evenly. Times are whole microseconds since 1970 (UTC), so that
 * nothing is lost to rounding; an unknown caller's is 0.
 */

export interface Rate {
  /** How many calls may come at once, at least 1. */
  readonly burst: number;
  /** The time in which one more call becomes possible, in microseconds, at least 1. */
  readonly interval: number;
}

/** What a rate says of a call. */
export interface Decision {
  readonly allowed: boolean;
  /** How many further calls would be allowed now. */
  readonly remaining: number;
  /** The time until one more call becomes possible, in microseconds; of a refused call, until it would be allowed. */
  readonly wait: number;
}

/** The theoretical arrival time after one more call. store/limits.ts does the same in SQL. */
export function advance({ interval }: Rate, arrival: number, now: number): number {
  return Math.max(arrival, now) + interval;
}

/** Decides a call by the theoretical arrival time that it leads to; where it is refused, the one before stays. */
export function decide({ burst, interval }: Rate, advanced: number, now: number): Decision {
  const spent = advanced - now;
  const most = burst * interval;
  if (spent > most) return { allowed: false, remaining: 0, wait: spent - most };
  const remaining = Math.floor((most - spent) / interval);
  return { allowed: true, remaining, wait: spent - (burst - remaining - 1) * interval };
}

/**
 * The theoretical arrival time to go on with where `arrival` lies further ahead than calls can bring it, by more than
 * `tolerance` microseconds: the clock was set back. Then all is spent, and the next call waits one interval. Otherwise it
 * is `arrival` itself.
 */
export function afterClock({ burst, interval }: Rate, arrival: number, now: number, tolerance = 0): number {
  const furthest = now + burst * interval;
  return arrival > furthest + tolerance ? furthest : arrival;
}
