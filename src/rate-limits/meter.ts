import { advance, afterClock, type Judgement, judge } from "./gcra.ts";
import type { Policy } from "./policy.ts";
import { RecentMap } from "./recent-map.ts";

/** How many callers a meter remembers: at 100 bytes each, some 10 MB for all meters at the very most. */
const mostCallers = 50_000;

/**
 * A policy applied in this process, with bounded memory. Callers that were quiet longest are forgotten first; whoever is
 * forgotten has the whole burst again.
 */
export class Meter<Key> {
  readonly policy: Policy;
  readonly #now: () => number;
  readonly #arrivals: RecentMap<Key, number>;
  readonly #full: Judgement;

  /** `now` gives the time in milliseconds since 1970 (UTC). */
  constructor(policy: Policy, now: () => number, capacity = mostCallers) {
    this.policy = policy;
    this.#now = now;
    this.#arrivals = new RecentMap(capacity);
    this.#full = { allowed: true, remaining: policy.burst, wait: 0 };
  }

  /** How many callers are remembered. */
  get size(): number {
    return this.#arrivals.size;
  }

  /** Spends one call of `key`, unless there is none left beyond `reserve` of them. */
  charge(key: Key, reserve = 0): Judgement {
    const { policy } = this;
    const now = this.#now() * 1000;
    const arrival = afterClock(policy, this.#arrivals.get(key) ?? 0, now);
    const advanced = advance(policy, arrival, now);
    const rate = reserve === 0 ? policy : { burst: policy.burst - reserve, interval: policy.interval };
    const judgement = judge(rate, advanced, now);
    // Of a refused call too: where the clock was set back, the time to wait runs from here.
    this.#arrivals.set(key, judgement.allowed ? advanced : arrival);
    return judgement;
  }

  /** How `key` stands: what `charge` would allow. Nothing is spent. */
  look(key: Key): Judgement {
    const known = this.#arrivals.get(key);
    if (known === undefined) return this.#full;
    const now = this.#now() * 1000;
    const arrival = afterClock(this.policy, known, now);
    if (arrival !== known) this.#arrivals.set(key, arrival);
    if (arrival <= now) return this.#full;
    // A call more would lead to this; it leaves one call more than it would after that.
    const { allowed, remaining, wait } = judge(this.policy, advance(this.policy, arrival, now), now);
    return allowed ? { allowed, remaining: remaining + 1, wait } : { allowed, remaining, wait };
  }
}
