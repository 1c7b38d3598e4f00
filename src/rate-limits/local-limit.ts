import { LRUCache } from "lru-cache";
import { advance, afterClock, type Decision, decide } from "./gcra.ts";
import type { Policy } from "./policy.ts";

/** How many callers a limit remembers. At about 110 bytes each, the four limits of a process take 22 MB at most. */
const maxCallers = 50_000;

/**
 * A policy that is applied in this process, with bounded memory. The callers that were quiet for longest are forgotten first,
 * and have the whole burst again.
 */
export class LocalLimit {
  readonly policy: Policy;
  readonly #now: () => number;
  readonly #arrivals: LRUCache<string | number, number>;
  readonly #full: Decision;

  /** @param now gives the time in milliseconds since 1970 (UTC) */
  constructor(policy: Policy, now: () => number, capacity = maxCallers) {
    this.policy = policy;
    this.#now = now;
    this.#arrivals = new LRUCache({ max: capacity });
    this.#full = { allowed: true, remaining: policy.burst, wait: 0 };
  }

  /** Spends one call of `key`, unless only `reserve` calls or fewer are left. */
  spend(key: string | number, reserve = 0): Decision {
    const { policy } = this;
    const now = this.#now() * 1000;
    const arrival = afterClock(policy, this.#arrivals.get(key) ?? 0, now);
    const advanced = advance(policy, arrival, now);
    const rate = reserve === 0 ? policy : { burst: policy.burst - reserve, interval: policy.interval };
    const decision = decide(rate, advanced, now);
    // A refused call is stored too: if the clock was set back, the time to wait runs from here.
    this.#arrivals.set(key, decision.allowed ? advanced : arrival);
    return decision;
  }

  /** Decides as `spend` would, and spends nothing: `remaining` still includes the call. */
  check(key: string | number): Decision {
    const known = this.#arrivals.get(key);
    if (known === undefined) return this.#full;
    const now = this.#now() * 1000;
    const arrival = afterClock(this.policy, known, now);
    if (arrival !== known) this.#arrivals.set(key, arrival);
    if (arrival <= now) return this.#full;
    // One more call would lead to this decision, with one call fewer remaining than there is now.
    const { allowed, remaining, wait } = decide(this.policy, advance(this.policy, arrival, now), now);
    return allowed ? { allowed, remaining: remaining + 1, wait } : { allowed, remaining, wait };
  }
}
