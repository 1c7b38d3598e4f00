import { advance, afterClock, type Decision, decide } from "../rate-limits/gcra.ts";
import type { Policies, Policy } from "../rate-limits/policy.ts";
import { advanceLimit, lowerLimit, type Subject, sweepAddresses } from "../store/tables/limits.ts";
import type { Board, Unit } from "./board.ts";

/** How far the clocks of replicas may differ, in microseconds. A time further ahead was stored before a clock was set back. */
const clockTolerance = 60_000_000;
const sweepBatch = 1_000;

/** The limits of writes, which all replicas share. */
export class WriteLimits {
  readonly #policies: Policies;

  constructor(policies: Policies) {
    this.#policies = policies;
  }

  /**
   * Counts one write, as the last statement of its transaction. When it refuses, the caller throws, and all rolls back.
   * @param subject an agent's id or a client address
   */
  async charge(
    { tx, now }: Unit,
    name: keyof Policies,
    subject: Subject,
  ): Promise<{ policy: Policy; decision: Decision; repair: ((unit: Unit) => Promise<void>) | undefined }> {
    const policy = this.#policies[name];
    const time = now * 1000;
    const advanced = await advanceLimit(tx, subject, name, time, policy.interval);
    const arrival = advanced - policy.interval;
    const settled = afterClock(policy, arrival, time, clockTolerance);
    if (settled === arrival) return { policy, decision: decide(policy, advanced, time), repair: undefined };
    // The rollback also restores the wrong time, which would refuse writes until then. So it is lowered afterwards.
    return {
      policy,
      decision: decide(policy, advance(policy, settled, time), time),
      repair: (unit) => lowerLimit(unit.tx, subject, name, settled),
    };
  }
}

/** Deletes the addresses of registrations that have their whole limit again. */
export async function forgetAddresses(board: Board, signal: AbortSignal): Promise<void> {
  for (;;) {
    const swept = await board.write(signal, ({ tx }) => sweepAddresses(tx, board.expiryNow() * 1000, sweepBatch));
    if (swept < sweepBatch) return;
  }
}
