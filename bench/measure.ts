import { type Case, savesRoundTrips } from "./cases.ts";
import { runLoad } from "./load.ts";
import type { Side } from "./memory.ts";
import { concurrency, type Options } from "./options.ts";
import { handWritten, improved, type Protocol } from "./protocols.ts";

/** The results of a case over one protocol, as medians of its rounds. */
export interface Measurement {
  case: string;
  kind: Case["kind"];
  protocol: string;
  perSecond: number;
  /** In milliseconds. */
  p50: number;
  p99: number;
  /** Throughput as a share of the hand-written route's throughput in the same round. */
  ratio: number;
  /** The ratio of each round, in order. */
  ratios: number[];
  /** The maximum resident memory of the process that answered, in MiB. */
  residentMiB: number | undefined;
}

export type Sides = Record<Protocol["side"], Side>;

/** Measures cases one after the other; see `measure`. */
export async function measureAll(
  cases: readonly Case[],
  protocols: Protocol[],
  sides: Sides,
  { options, log, signal }: { options: Options; log(line: string): void; signal: AbortSignal },
  reference?: Protocol,
): Promise<Measurement[]> {
  const measurements: Measurement[] = [];
  for (const each of cases) {
    signal.throwIfAborted();
    log(`measuring ${each.name}`);
    measurements.push(...(await measure(each, protocols, sides, options, signal, reference)));
  }
  return measurements;
}

/**
 * Measures one case. Every round measures all protocols, alternately forwards and backwards, so that a machine that speeds up
 * or slows down affects all of them. Ratios are formed within a round.
 * @throws Error when a call fails
 */
export async function measure(
  each: Case,
  protocols: Protocol[],
  sides: Sides,
  { rounds, seconds, warmUpSeconds }: Options,
  signal: AbortSignal,
  reference: Protocol = handWritten,
): Promise<Measurement[]> {
  const alsoByHand = reference === handWritten && savesRoundTrips(each) ? [improved] : [];
  const contenders = [reference, ...alsoByHand, ...protocols];
  const results = new Map(contenders.map(({ name }) => [name, new Results()]));
  const run = async (protocol: Protocol, duration: number) => {
    const { child, memory } = sides[protocol.side];
    const requests = Array.from({ length: concurrency }, (_, index) => each.calls(index).map(protocol.encode));
    memory.takeRecent();
    const round = await runLoad(protocol.transport, { url: child.url, seconds: duration, requests, signal });
    const failure = child.failure();
    if (failure !== undefined) throw new Error(failure);
    if (round.failed > 0) {
      throw new Error(`${each.name} over ${protocol.name}: ${round.failed} calls failed: ${round.failures.join("; ")}`);
    }
    return { ...round, residentMiB: memory.takeRecent() };
  };

  for (const protocol of contenders) await run(protocol, warmUpSeconds);
  for (let round = 0; round < rounds; round++) {
    for (const protocol of round % 2 === 0 ? contenders : contenders.toReversed()) {
      const result = await run(protocol, seconds);
      const kept = results.get(protocol.name) as Results;
      kept.perSecond.push(result.perSecond);
      kept.p50.push(result.p50);
      kept.p99.push(result.p99);
      if (result.residentMiB !== undefined) kept.residentMiB.push(result.residentMiB);
    }
  }

  const base = (results.get(reference.name) as Results).perSecond;
  return contenders.map(({ name }) => {
    const { perSecond, p50, p99, residentMiB } = results.get(name) as Results;
    const ratios = perSecond.map((value, round) => value / (base[round] as number));
    return {
      case: each.name,
      kind: each.kind,
      protocol: name,
      perSecond: median(perSecond),
      p50: median(p50),
      p99: median(p99),
      ratio: median(ratios),
      ratios,
      residentMiB: residentMiB.length > 0 ? Math.max(...residentMiB) : undefined,
    };
  });
}

class Results {
  readonly perSecond: number[] = [];
  readonly p50: number[] = [];
  readonly p99: number[] = [];
  readonly residentMiB: number[] = [];
}

export function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  const upper = sorted[middle] as number;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] as number)) / 2;
}
