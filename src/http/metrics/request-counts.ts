import type { MetricType } from "prom-client";
import type { Outcome } from "../../calls/call.ts";

/** In seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface Operation {
  /** The number of requests, by protocol and outcome. */
  counts: Map<string, Map<Outcome, number>>;
  durations: Durations | undefined;
}

/** The durations of an operation's requests. Each is counted in the first bucket that holds it; the last has no bound. */
interface Durations {
  inBucket: number[];
  count: number;
  sum: number;
}

/** One value of a histogram, as the metrics library has it. */
interface Sample {
  metricName: string;
  labels: Record<string, string | number>;
  value: number;
}

/**
 * Counts requests and their durations by operation. The metrics library gets them when the metrics are read, because it would
 * sort and join labels at each request.
 */
export class RequestCounts {
  readonly #operations = new Map<string, Operation>();

  /** @param seconds how long the request took; undefined for a stream */
  count(operation: string, protocol: string, code: Outcome, seconds: number | undefined): void {
    const of = this.#of(operation);
    const { counts } = of;
    let ofProtocol = counts.get(protocol);
    if (ofProtocol === undefined) {
      ofProtocol = new Map();
      counts.set(protocol, ofProtocol);
    }
    ofProtocol.set(code, (ofProtocol.get(code) ?? 0) + 1);
    if (seconds === undefined) return;
    of.durations ??= { inBucket: new Array<number>(buckets.length + 1).fill(0), count: 0, sum: 0 };
    let bucket = 0;
    while (bucket < buckets.length && seconds > (buckets[bucket] as number)) bucket += 1;
    of.durations.inBucket[bucket] = (of.durations.inBucket[bucket] as number) + 1;
    of.durations.count += 1;
    of.durations.sum += seconds;
  }

  *counted(): Generator<{ labels: { operation: string; protocol: string; code: Outcome }; count: number }> {
    for (const [operation, { counts }] of this.#operations) {
      for (const [protocol, byCode] of counts) {
        for (const [code, count] of byCode) yield { labels: { operation, protocol, code }, count };
      }
    }
  }

  /** The durations as a metric that a registry of the library takes. */
  histogram(name: string, help: string) {
    const read = () =>
      [...this.#operations].flatMap(([operation, { durations }]) => samplesOf(name, operation, durations));
    const described = { name, help, type: "histogram" as unknown as MetricType, aggregator: "sum" as const };
    return { ...described, get: async () => ({ ...described, values: read() }) };
  }

  #of(name: string): Operation {
    let operation = this.#operations.get(name);
    if (operation === undefined) {
      operation = { counts: new Map(), durations: undefined };
      this.#operations.set(name, operation);
    }
    return operation;
  }
}

/** A bucket of the library also counts what smaller buckets hold. */
function samplesOf(name: string, operation: string, durations: Durations | undefined): Sample[] {
  if (durations === undefined) return [];
  const { inBucket, count, sum } = durations;
  let held = 0;
  const samples: Sample[] = [...buckets, "+Inf"].map((le, bucket) => {
    held += inBucket[bucket] as number;
    return { metricName: `${name}_bucket`, labels: { le, operation }, value: held };
  });
  const labels = { operation };
  return [
    ...samples,
    { metricName: `${name}_sum`, labels, value: sum },
    { metricName: `${name}_count`, labels, value: count },
  ];
}
