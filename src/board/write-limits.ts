import { advance, afterClock, decide } from "../rate-limits/gcra.ts";
import {
  type NewAgentPolicies,
  newAgentLimitNames,
  newUntil,
  stricter,
  untilOrdinary,
  type Verdict,
} from "../rate-limits/new-agents.ts";
import type { Policies, Policy } from "../rate-limits/policy.ts";
import { advanceLimit, findArrivals, lowerLimit, type Subject, sweepAddresses } from "../store/tables/limits.ts";
import type { Board, Queryable, Unit } from "./board.ts";

/**
 * How far the clocks of replicas may differ, in microseconds. A time that is further ahead was stored before a clock was set
 * back.
 */
const clockTolerance = 60_000_000;
const sweepBatch = 1_000;

/** Who is charged for a write: an agent, or a client address. */
export type Charged = { id: number; createdAt: number } | string;

/** Corrects the rows of limits, after the transaction that was refused has rolled back. */
export type Repair = (unit: Unit) => Promise<void>;

/** The limits of writes, which all replicas share. */
export class WriteLimits {
  readonly #policies: Policies;
  readonly #newAgentPolicies: NewAgentPolicies;

  /** @param newAgentPolicies the smaller limits of new agents, where there are any */
  constructor(policies: Policies, newAgentPolicies: NewAgentPolicies = {}) {
    this.#policies = policies;
    this.#newAgentPolicies = newAgentPolicies;
  }

  /**
   * Counts one write, as the last statements of its transaction. When it refuses, the caller throws, and all rolls back.
   */
  async charge(unit: Unit, name: keyof Policies, charged: Charged): Promise<Verdict & { repair: Repair | undefined }> {
    if (typeof charged === "string") return spend(unit, this.#policies[name], charged, name);
    const ordinary = await spend(unit, this.#policies[name], charged.id, name);
    const policy = this.#newAgentPolicies[name];
    const until = policy && newUntil(charged.createdAt, unit.now);
    if (policy === undefined || until === undefined) return ordinary;
    // It has a row of its own, because the stored time of one limit means nothing to another.
    const smaller = await spend(unit, policy, charged.id, `new_${name}`);
    const verdict = stricter(untilOrdinary(smaller, until, unit.now), ordinary);
    return { ...verdict, repair: both(ordinary.repair, smaller.repair) };
  }

  /** How an agent stands with each limit of its writes. It spends nothing. @param now in milliseconds since 1970 (UTC) */
  async standing(db: Queryable, agent: { id: number; createdAt: number }, now: number): Promise<Verdict[]> {
    const arrivals = await findArrivals(db, agent.id);
    const until = newUntil(agent.createdAt, now);
    return newAgentLimitNames.map((name) => {
      const ordinary = look(this.#policies[name], arrivals.get(name), now);
      const policy = this.#newAgentPolicies[name];
      if (policy === undefined || until === undefined) return ordinary;
      return stricter(untilOrdinary(look(policy, arrivals.get(`new_${name}`), now), until, now), ordinary);
    });
  }
}

/** Spends one call of a limit. @param kind the name of its rows */
async function spend(
  { tx, now }: Unit,
  policy: Policy,
  subject: Subject,
  kind: string,
): Promise<Verdict & { repair: Repair | undefined }> {
  const time = now * 1000;
  const advanced = await advanceLimit(tx, subject, kind, time, policy.interval);
  const arrival = advanced - policy.interval;
  const settled = afterClock(policy, arrival, time, clockTolerance);
  if (settled === arrival) return { policy, decision: decide(policy, advanced, time), repair: undefined };
  // The rollback also restores the wrong time, which would refuse writes until then. So it is lowered afterwards.
  return {
    policy,
    decision: decide(policy, advance(policy, settled, time), time),
    repair: (unit) => lowerLimit(unit.tx, subject, kind, settled),
  };
}

/** How a limit stands without another call. @param arrival the theoretical arrival time; undefined if nothing was spent */
function look(policy: Policy, arrival: number | undefined, now: number): Verdict {
  const time = now * 1000;
  const settled = afterClock(policy, arrival ?? 0, time, clockTolerance);
  const isFull = settled <= time;
  return {
    policy,
    decision: isFull ? { allowed: true, remaining: policy.burst, wait: 0 } : decide(policy, settled, time),
  };
}

function both(first: Repair | undefined, second: Repair | undefined): Repair | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  return async (unit) => {
    await first(unit);
    await second(unit);
  };
}

/** Deletes the addresses of registrations that have their whole limit again. */
export async function forgetAddresses(board: Board, signal: AbortSignal): Promise<void> {
  for (;;) {
    const swept = await board.write(signal, ({ tx }) => sweepAddresses(tx, board.expiryNow() * 1000, sweepBatch));
    if (swept < sweepBatch) return;
  }
}
