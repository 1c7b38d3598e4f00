import type { Decision, Rate } from "./gcra.ts";
import { type LimitName, limitNames, type Quotas } from "./quota.ts";

const microseconds = 1_000_000;

/** A limit by its name, and how the header fields of draft-ietf-httpapi-ratelimit-headers-10 tell of it. */
export class Policy implements Rate {
  readonly name: LimitName;
  readonly burst: number;
  readonly interval: number;
  /** In which the whole burst is regained. */
  readonly windowSeconds: number;
  /** Its item of RateLimit-Policy: the quota, and the window in seconds. */
  readonly item: string;

  constructor(name: LimitName, { calls, windowSeconds }: { calls: number; windowSeconds: number }) {
    this.name = name;
    this.burst = calls;
    this.windowSeconds = windowSeconds;
    // Rounded up: never more than the quota in a window.
    this.interval = Math.ceil((windowSeconds * microseconds) / calls);
    this.item = `"${name}";q=${calls};w=${windowSeconds}`;
  }

  /** Its item of RateLimit: what remains, and the seconds until there is more. */
  stateItem({ remaining, wait }: Decision): string {
    return `"${this.name}";r=${remaining};t=${wholeSeconds(wait)}`;
  }
}

/** The seconds to wait, rounded up: waiting so long is enough. */
export function wholeSeconds(wait: number): number {
  return Math.ceil(wait / microseconds);
}

export type Policies = Record<LimitName, Policy>;

/** The policy of every limit. */
export function createPolicies(quotas: Quotas): Policies {
  return Object.fromEntries(limitNames.map((name) => [name, new Policy(name, quotas[name])])) as Policies;
}
