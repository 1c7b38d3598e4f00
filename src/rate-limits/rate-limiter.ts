import { LimitedRequest, type LocalLimits } from "./limited-request.ts";
import { type Limit, LocalLimit } from "./local-limit.ts";
import type { NewAgentPolicies } from "./new-agents.ts";
import type { Policies, Policy } from "./policy.ts";
import { type RequestLimits, unlimitedRequest } from "./request-limits.ts";

/** Makes the limit that applies a policy to agents or addresses. */
export type LimitFactory = <Key extends string | number>(policy: Policy) => Limit<Key>;

/** The rate limits of a process. (Writes are limited besides, in their transaction.) */
export interface RateLimiter {
  /** Begins a request of a client address. */
  begin(address: string): RequestLimits;
  /** Counts a faulty request against a client address. */
  spendRefusal(address: string): void;
}

/**
 * @param policies undefined where nothing is limited
 * @param now gives the time in milliseconds since 1970 (UTC), from a clock that nobody sets
 * @param newAgents the smaller limits of new agents, and the clock by which agents are new
 * @param limitOf by default makes limits that this process keeps alone
 */
export function createRateLimiter(
  policies: Policies | undefined,
  now: () => number,
  newAgents: { policies: NewAgentPolicies; now: () => number } = { policies: {}, now },
  limitOf: LimitFactory = (policy) => new LocalLimit(policy, now),
): RateLimiter {
  if (policies === undefined) return unlimited;
  const limits: LocalLimits = {
    policies,
    newAgentPolicies: newAgents.policies,
    dateNow: newAgents.now,
    calls: limitOf(policies.calls),
    reads: limitOf(policies.reads),
    refusals: limitOf(policies.refusals),
    credentials: limitOf(policies.credentials),
  };
  return {
    begin: (address) => new LimitedRequest(limits, address),
    spendRefusal(address) {
      limits.refusals.spend(address);
    },
  };
}

const unlimited: RateLimiter = {
  begin: () => unlimitedRequest,
  spendRefusal() {},
};
