// What an idempotency key costs: the same creates with and without one.
import { randomUUID } from "node:crypto";
import type { Case } from "./cases.ts";
import type { Measurement } from "./measure.ts";
import { median } from "./measure.ts";
import { concurrency, type Options } from "./options.ts";
import { type Protocol, protocols } from "./protocols.ts";

/** The maximum cost of a key, as a share of the throughput without keys. */
const mostCost = 0.25;
/** How many times the calls of the ordinary case: no call may be made twice, or it would be replayed. */
const times = 2;

const rest = protocols.find(({ name }) => name === "rest") as Protocol;
const withKey: Protocol = {
  ...rest,
  name: "rest, with key",
  encode(call) {
    const request = rest.encode(call);
    return { ...request, headers: { ...request.headers, "idempotency-key": randomUUID() } };
  },
};

export const idempotencyProtocols = [rest, withKey];

/** Creates, enough of them for a round. */
export function manyCreates(cases: Case[]): Case {
  const create = cases.find(({ name }) => name === "create") as Case;
  return {
    ...create,
    calls: (connection) => Array.from({ length: times }, () => create.calls(connection)).flat(),
  };
}

/**
 * The cost of a key, as the median of the rounds' shares of throughput lost.
 * @throws Error when calls may have come twice
 */
export function costOfKeys(
  each: Case,
  measurements: Measurement[],
  { seconds }: Options,
): { note: string; missed: string[] } {
  const [without, keyed] = idempotencyProtocols.map(({ name }) =>
    measurements.find(({ protocol }) => protocol === name),
  ) as [Measurement, Measurement];
  // A connection may be twice as busy as the average.
  if ((keyed.perSecond * seconds * 2) / concurrency > each.calls(0).length) {
    throw new Error("The rounds are too long: calls came twice, and were replayed. Give --seconds less.");
  }
  const costs = keyed.ratios.map((ratio, round) => 1 - ratio / (without.ratios[round] as number));
  const cost = median(costs);
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
  return {
    note: `an idempotency key costs a create ${percent(cost)} of its throughput (rounds: ${costs.map(percent).join(", ")})`,
    missed: cost <= mostCost ? [] : [`a key costs ${percent(cost)}, not ${percent(mostCost)} at most`],
  };
}
