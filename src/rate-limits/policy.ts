import type { Decision, Rate } from "./gcra.ts";
import { type LimitName, limitNames, type Quotas } from "./quota.ts";

const microseconds = 1_000_000;

/** A named limit, and its items in the header fields of draft-ietf-httpapi-ratelimit-headers-10. */
export class Policy implements Rate {
  readonly name: LimitName;
  readonly burst: number;
  readonly interval: number;
  /** The time in which the whole burst becomes available again. */
  readonly windowSeconds: number;
  /** The item of RateLimit-Policy: the quota, and the window in seconds. */
  readonly item: string;

  constructor(name: LimitName, { calls, windowSeconds }: { calls: number; windowSeconds: number }) {
    this.name = name;
    this.burst = calls;
    this.windowSeconds = windowSeconds;
    // Rounded up, so that a window never gives back more than the quota.
    this.interval = Math.ceil((windowSeconds * microseconds) / calls);
    this.item = `"${name}";q=${calls};w=${windowSeconds}`;
  }

  /** The item of RateLimit: the remaining calls, and the seconds until there is one more. */
  stateItem({ remaining, wait }: Decision): string {
    return `"${this.name}";r=${remaining};t=${wholeSeconds(wait)}`;
  }
}

/** The seconds to wait, rounded up so that they are enough. @param wait in microseconds */
export function wholeSeconds(wait: number): number {
  return Math.ceil(wait / microseconds);
}

export type Policies = Record<LimitName, Policy>;

/** The policy of every limit. */
export function createPolicies(quotas: Quotas): Policies {
  return Object.fromEntries(limitNames.map((name) => [name, new Policy(name, quotas[name])])) as Policies;
}
