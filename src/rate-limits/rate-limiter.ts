import { LimitedRequest, type LocalLimits } from "./limited-request.ts";
import { LocalLimit } from "./local-limit.ts";
import type { NewAgentPolicies } from "./new-agents.ts";
import type { Policies } from "./policy.ts";
import { type RateLimiter, unlimited } from "./request-limits.ts";

/**
 * @param policies undefined if nothing is limited
 * @param now gives the time in milliseconds since 1970 (UTC), from a clock that never jumps
 * @param newAgents the smaller limits of new agents, and the clock by which agents are new
 */
export function createRateLimiter(
  policies: Policies | undefined,
  now: () => number,
  newAgents: { policies: NewAgentPolicies; now: () => number } = { policies: {}, now },
): RateLimiter {
  if (policies === undefined) return unlimited;
  const limits: LocalLimits = {
    policies,
    newAgentPolicies: newAgents.policies,
    dateNow: newAgents.now,
    calls: new LocalLimit(policies.calls, now),
    reads: new LocalLimit(policies.reads, now),
    refusals: new LocalLimit(policies.refusals, now),
    credentials: new LocalLimit(policies.credentials, now),
  };
  return {
    begin: (address) => new LimitedRequest(limits, address),
    spendRefusal(address) {
      limits.refusals.spend(address);
    },
  };
}
