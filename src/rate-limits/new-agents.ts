import type { Decision } from "./gcra.ts";
import { limitTexts } from "./limit-texts.ts";
import { Policy } from "./policy.ts";
import { type LimitName, limitNames, parseQuota, type Quota, type Quotas } from "./quota.ts";

/*
 * The smaller limits of new agents. A new agent spends from two limits at once: from the ordinary one, and from a smaller one
 * of its own. When it is no longer new, it stops spending from the smaller one. What it has spent from the ordinary one by
 * then still counts, so the change neither gives it more than the ordinary quota nor makes it wait.
 */

/** How long an agent is new, in milliseconds. */
const newAgentMs = 86_400_000;

/** The limits that may be smaller for new agents: those of agents that all replicas share. */
export const newAgentLimitNames: readonly LimitName[] = limitNames.filter(
  (name) => limitTexts[name].per === "agent" && limitTexts[name].replicas === "all together",
);

/** The quotas of new agents. If a limit has none, only the ordinary quota applies. */
export type NewAgentQuotas = Partial<Record<LimitName, Quota>>;
export type NewAgentPolicies = Partial<Record<LimitName, Policy>>;

/** Reads quotas such as posts=5/1h,comments=20/1h. @throws Error that says what is wrong, to follow the name of the setting */
export function parseNewAgentQuotas(text: string): NewAgentQuotas {
  const quotas: NewAgentQuotas = {};
  for (const entry of text.split(",")) {
    const [, given = "", quota = ""] = /^([^=]*)=(.*)$/s.exec(entry.trim()) ?? [];
    const name = newAgentLimitNames.find((each) => each === given);
    if (name === undefined) {
      throw new Error(
        `must be limits of ${newAgentLimitNames.join(", ")}, such as posts=5/1h,comments=20/1h, not ${JSON.stringify(text)}`,
      );
    }
    if (quotas[name] !== undefined) throw new Error(`must not name ${name} twice`);
    try {
      quotas[name] = parseQuota(quota);
    } catch (error) {
      throw new Error(`is wrong at ${name}: a limit ${(error as Error).message}`);
    }
  }
  return quotas;
}

/** The policies of new agents, where they allow less than the ordinary quotas. */
export function createNewAgentPolicies(quotas: Quotas, newAgentQuotas: NewAgentQuotas): NewAgentPolicies {
  const policies: NewAgentPolicies = {};
  for (const name of newAgentLimitNames) {
    const quota = newAgentQuotas[name];
    if (quota === undefined) continue;
    const ordinary = quotas[name];
    const smaller = smallerQuota(quota, ordinary);
    const isSmaller = smaller.calls !== ordinary.calls || smaller.windowSeconds !== ordinary.windowSeconds;
    if (isSmaller) policies[name] = new Policy(name, smaller);
  }
  return policies;
}

/** The quota that allows no more than either, neither at once nor in the long run. */
function smallerQuota(one: Quota, other: Quota): Quota {
  const calls = Math.min(one.calls, other.calls);
  const windows = [one, other].map((quota) => Math.ceil((calls * quota.windowSeconds) / quota.calls));
  return { calls, windowSeconds: Math.max(...windows) };
}

/** When an agent stops being new, in milliseconds since 1970; undefined if it is not new any more. */
export function newUntil(createdAt: number, now: number): number | undefined {
  const until = createdAt + newAgentMs;
  return now < until ? until : undefined;
}

/** A limit and what it decides about a call. */
export interface Verdict {
  readonly policy: Policy;
  readonly decision: Decision;
  /** For a limit of new agents: when it stops applying, in milliseconds since 1970. */
  readonly until?: number | undefined;
}

/** The verdict of a limit of new agents. Nobody has to wait longer than the limit applies. */
export function untilOrdinary({ policy, decision }: Verdict, until: number, now: number): Verdict {
  return { policy, decision: { ...decision, wait: Math.min(decision.wait, (until - now) * 1000) }, until };
}

/** The verdict that counts when a call spends from two limits: a refusal, else the one that leaves less. */
export function stricter(one: Verdict, other: Verdict): Verdict {
  const [a, b] = [one.decision, other.decision];
  if (a.allowed !== b.allowed) return a.allowed ? other : one;
  if (a.remaining !== b.remaining) return a.remaining < b.remaining ? one : other;
  return a.wait >= b.wait ? one : other;
}
