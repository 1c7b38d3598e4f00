import { AggregatorRegistry, Registry } from "prom-client";
import { withTimeout } from "../../timing/wait.ts";
import type { MetricsText, MetricValues } from "./metrics.ts";

/** A process whose metrics are merged with those of others. */
export interface MetricsSource {
  values(): Promise<MetricValues[]>;
}

/** A process that does not answer within this time is left out, in milliseconds. */
const timeoutMs = 2_000;
const countedTypes = ["counter", "histogram"];

/** The metrics of several processes as one. Each metric says what its values become: their sum, unless it says otherwise. */
export class MergedMetrics implements MetricsText {
  readonly contentType = Registry.PROMETHEUS_CONTENT_TYPE;
  /** The newest values of each process. */
  readonly #sources = new Map<MetricsSource, MetricValues[]>();
  /** What processes have counted that have ended: a sum must not fall. */
  #ended: MetricValues[][] = [];
  #running: Promise<string> | undefined;

  add(source: MetricsSource): void {
    this.#sources.set(source, []);
  }

  /** Removes a process that has ended. What it has counted stays. */
  remove(source: MetricsSource): void {
    const values = this.#sources.get(source) ?? [];
    this.#sources.delete(source);
    this.#ended.push(values.filter(({ type }) => countedTypes.includes(String(type))));
  }

  /** All metrics. Concurrent requests share one read. */
  text(): Promise<string> {
    this.#running ??= this.#read().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #read(): Promise<string> {
    const reads = [...this.#sources.keys()].map(async (source) => {
      const values = await withTimeout(source.values(), timeoutMs).catch(() => undefined);
      if (values !== undefined && this.#sources.has(source)) this.#sources.set(source, values);
    });
    await Promise.all(reads);
    const ended = await merge(this.#ended.splice(0)).getMetricsAsJSON();
    this.#ended.push(ended);
    return merge([...this.#sources.values(), ended]).metrics();
  }
}

function merge(processes: readonly MetricValues[][]): Registry {
  const known = new Set(
    processes.flat().flatMap(({ name, values }) => (values.some(({ value }) => !Number.isNaN(value)) ? name : [])),
  );
  // What one process does not know, another one may.
  const withoutUnknown = (metric: MetricValues): MetricValues =>
    known.has(metric.name) ? { ...metric, values: metric.values.filter(({ value }) => !Number.isNaN(value)) } : metric;
  return AggregatorRegistry.aggregate(processes.map((metrics) => metrics.map(withoutUnknown)));
}
