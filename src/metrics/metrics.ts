import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Outcome } from "../calls/call.ts";
import { withTimeout } from "../timing/wait.ts";

/** A value that is read when the metrics are read. With a label: a value for each value of the label. `isCounter`: it only grows. */
export type GaugeSource = Gauged<number> | (Gauged<ReadonlyMap<string, number>> & { label: string });

interface Gauged<Value> {
  name: string;
  help: string;
  isCounter?: boolean;
  /** Undefined while the value is unknown. It is also unknown if `read` throws or takes over a second. */
  read(): Value | undefined | Promise<Value | undefined>;
}

type GaugeValue = number | ReadonlyMap<string, number> | undefined;

/** How long a gauge may take to be read, in milliseconds. */
const readTimeoutMs = 1_000;

/** The upper bounds of the histogram of durations, in seconds. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

let processRegistry: Registry | undefined;

/** The metrics of the process. All servers in it share them, and they are collected until it ends. */
function processMetrics(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}

/** What is counted of a request. */
export interface CountedRequest {
  /** The name of its RPC. */
  operation: string;
  protocol: "rest" | "mcp" | "connect" | "grpc" | "grpc-web";
  code: Outcome;
  /** How long it took; undefined for a stream. */
  seconds: number | undefined;
  /** Whether an earlier request with the same idempotency key had stored the response. */
  isReplay: boolean;
  /** Whether the response was made for another request that asked for the same. */
  isShared: boolean;
}

/** Metrics in the text format of Prometheus. */
export interface MetricsText {
  readonly contentType: string;
  text(): Promise<string>;
}

/** The metrics of this process. Labels come only from the contract and from closed sets. */
export class Metrics implements MetricsText {
  readonly contentType: string;
  readonly #registry = new Registry();
  readonly #requests: Counter<"operation" | "protocol" | "code">;
  readonly #durations: Histogram<"operation">;
  #replays = 0;
  #sharedReads = 0;
  #running: Promise<string> | undefined;

  constructor(gauges: readonly GaugeSource[]) {
    const registers = [this.#registry];
    this.contentType = this.#registry.contentType;
    this.#requests = new Counter({
      name: "stoa_requests_total",
      help: "Requests by operation, protocol and outcome: ok, a code of the Error shape, canceled or refused.",
      labelNames: ["operation", "protocol", "code"],
      registers,
    });
    this.#durations = new Histogram({
      name: "stoa_request_duration_seconds",
      help: "Time from the request's head to the end of the reply, by operation; streams are left out.",
      labelNames: ["operation"],
      buckets,
      registers,
    });
    const counters: GaugeSource[] = [
      {
        name: "stoa_replays_total",
        help: "Responses that an earlier request with the same idempotency key had stored.",
        isCounter: true,
        read: () => this.#replays,
      },
      {
        name: "stoa_shared_reads_total",
        help: "Public reads that got the response of a read for another request.",
        isCounter: true,
        read: () => this.#sharedReads,
      },
    ];
    for (const source of [...gauges, ...counters]) {
      const { name, help, isCounter = false } = source;
      const label = "label" in source ? source.label : undefined;
      let running: Promise<GaugeValue> | undefined;
      const labelNames = label === undefined ? [] : [label];
      const read = async (set: (value: number, labels: Record<string, string>) => void) => {
        // Concurrent requests share one read, so that a read that hangs is not followed by others.
        running ??= readOnce(source.read).finally(() => {
          running = undefined;
        });
        const value = await withTimeout(running, readTimeoutMs);
        if (label === undefined) set((value as number | undefined) ?? Number.NaN, {});
        else for (const [of, each] of (value as ReadonlyMap<string, number>) ?? []) set(each, { [label]: of });
      };
      const collect = function (this: Counter | Gauge) {
        this.reset();
        return read((value, labels) => this.inc(labels, value));
      };
      new (isCounter ? Counter : Gauge)({ name, help, labelNames, registers, collect });
    }
  }

  /** Counts a request of an RPC that is over. */
  count({ operation, protocol, code, seconds, isReplay, isShared }: CountedRequest): void {
    this.#requests.inc({ operation, protocol, code });
    if (seconds !== undefined) this.#durations.observe({ operation }, seconds);
    if (isReplay) this.#replays += 1;
    if (isShared) this.#sharedReads += 1;
  }

  /** All metrics. Concurrent requests share one read. */
  text(): Promise<string> {
    this.#running ??= this.#read().finally(() => {
      this.#running = undefined;
    });
    return this.#running;
  }

  async #read(): Promise<string> {
    return `${await this.#registry.metrics()}\n${await processMetrics().metrics()}`;
  }
}

async function readOnce(read: GaugeSource["read"]): Promise<GaugeValue> {
  try {
    return await read();
  } catch {
    // The other metrics matter even more while the database is away.
    return undefined;
  }
}
