// The cost of an idempotency key: the same creates with a key and without.
import { randomUUID } from "node:crypto";
import type { Case } from "./cases.ts";
import type { Measurement } from "./measure.ts";
import { median } from "./measure.ts";
import { concurrency, type Options } from "./options.ts";
import { type Protocol, protocols } from "./protocols.ts";

/** The maximum cost of a key, as a share of the throughput without keys. */
const maxCost = 0.25;
/** How many more calls each connection has than in the ordinary case. A call that is made twice would be replayed. */
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

/** Makes enough creates for a round. */
export function manyCreates(cases: Case[]): Case {
  const create = cases.find(({ name }) => name === "create") as Case;
  return {
    ...create,
    calls: (connection) => Array.from({ length: times }, () => create.calls(connection)).flat(),
  };
}

/**
 * Returns the cost of a key: the median share of throughput that is lost in a round.
 * @throws Error when calls may have been made twice
 */
export function costOfKeys(
  each: Case,
  measurements: Measurement[],
  { seconds }: Options,
): { note: string; missed: string[] } {
  const [without, keyed] = idempotencyProtocols.map(({ name }) =>
    measurements.find(({ protocol }) => protocol === name),
  ) as [Measurement, Measurement];
  // One connection may make twice as many calls as the average.
  if ((keyed.perSecond * seconds * 2) / concurrency > each.calls(0).length) {
    throw new Error("The rounds are too long: calls were made twice and replayed. Give fewer --seconds.");
  }
  const costs = keyed.ratios.map((ratio, round) => 1 - ratio / (without.ratios[round] as number));
  const cost = median(costs);
  const percent = (share: number) => `${(share * 100).toFixed(0)} %`;
  return {
    note: `an idempotency key costs a create ${percent(cost)} of its throughput (rounds: ${costs.map(percent).join(", ")})`,
    missed: cost <= maxCost ? [] : [`a key costs ${percent(cost)}, not ${percent(maxCost)} at most`],
  };
}
