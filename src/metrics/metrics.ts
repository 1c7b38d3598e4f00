import type { Socket } from "node:net";
import type { DescMethod } from "@bufbuild/protobuf";
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from "prom-client";
import type { Outcome } from "../calls/call.ts";
import { statusNameOf } from "../calls/error-mapping.ts";
import { withTimeout } from "../timing/wait.ts";

/** A value that is read when the metrics are read. With a label, it is a value for each value of the label. */
export type GaugeSource = Gauged<number> | (Gauged<ReadonlyMap<string, number>> & { label: string });

interface Gauged<Value> {
  name: string;
  help: string;
  /** Whether the value only grows. */
  isCounter?: boolean;
  /** Undefined while the value is unknown. It is also unknown if `read` throws or takes over a second. */
  read(): Value | undefined | Promise<Value | undefined>;
}

type GaugeValue = number | ReadonlyMap<string, number> | undefined;

/** How long a gauge may take to be read, in milliseconds. */
const readTimeoutMs = 1_000;

/** The upper bounds of the histograms of durations, in seconds: those of the conventions below, and shorter ones. */
const buckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The methods that have a name in metrics; the others are `_OTHER`. */
const namedMethods = new Set(["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"]);

let processRegistry: Registry | undefined;

/** The metrics of the process. All servers in it share them, and they are collected until it ends. */
function processMetrics(): Registry {
  if (processRegistry === undefined) {
    processRegistry = new Registry();
    collectDefaultMetrics({ register: processRegistry });
  }
  return processRegistry;
}

/** What is counted of a request that is over and called an RPC. */
export interface CountedRequest {
  /** The RPC that it calls. */
  rpc: DescMethod;
  protocol: "rest" | "mcp" | "connect" | "grpc" | "grpc-web";
  code: Outcome;
  /** How long it took. */
  seconds: number;
  /** Whether an earlier request with the same idempotency key had stored the response. */
  isReplay: boolean;
  /** Whether the response was made for another request that asked for the same. */
  isShared: boolean;
  /** The request as HTTP; undefined for an RPC. */
  http: HttpExchange | undefined;
}

interface HttpExchange {
  request: {
    readonly method?: string | undefined;
    readonly socket: (Socket & { encrypted?: boolean }) | null | undefined;
  };
  response: { readonly headersSent: boolean; readonly statusCode: number };
  /** The address of its route as the contract writes it, /api/v1/posts/{id}. */
  route: string;
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
  readonly #httpDurations: Histogram<string>;
  readonly #rpcDurations: Histogram<string>;
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
    // By OpenTelemetry's semantic conventions 1.45, as its exporter for Prometheus would name them:
    // https://opentelemetry.io/docs/specs/semconv/http/http-metrics/ and
    // https://opentelemetry.io/docs/specs/semconv/rpc/rpc-metrics/.
    this.#httpDurations = new Histogram({
      name: "http_server_request_duration_seconds",
      help: "Time from the head of a request over REST or MCP to the end of the reply; streams are left out.",
      labelNames: ["http_request_method", "http_route", "http_response_status_code", "url_scheme", "error_type"],
      buckets,
      registers,
    });
    this.#rpcDurations = new Histogram({
      name: "rpc_server_call_duration_seconds",
      help: "Time from the head of a call over gRPC, gRPC-Web or Connect to the end of the reply; streams are left out.",
      labelNames: ["rpc_system_name", "rpc_method", "rpc_status_code", "error_type"],
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

  /** Counts a request of an RPC that is over. Labels without a value are left out, as the conventions say. */
  count({ rpc, protocol, code, seconds, isReplay, isShared, http }: CountedRequest): void {
    this.#requests.inc({ operation: rpc.name, protocol, code });
    if (isReplay) this.#replays += 1;
    if (isShared) this.#sharedReads += 1;
    if (rpc.methodKind !== "unary") return;
    if (http === undefined) {
      this.#rpcDurations.observe(labelsOfRpc(rpc, protocol, code), seconds);
      return;
    }
    const { route, request, response } = http;
    const { method = "", socket } = request;
    const { headersSent, statusCode } = response;
    const labels = {
      http_route: route,
      http_request_method: namedMethods.has(method) ? method : "_OTHER",
      url_scheme: socket?.encrypted === true ? "https" : "http",
      // The client may leave before the reply begins.
      ...(headersSent ? { http_response_status_code: statusCode } : {}),
      ...(headersSent && statusCode >= 500 ? { error_type: statusCode } : {}),
    };
    this.#httpDurations.observe(labels, seconds);
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

function labelsOfRpc(rpc: DescMethod, protocol: CountedRequest["protocol"], code: Outcome): Record<string, string> {
  const isGrpc = protocol !== "connect";
  const status = statusNameOf(code, isGrpc);
  return {
    rpc_system_name: isGrpc ? "grpc" : "connectrpc",
    rpc_method: `${rpc.parent.typeName}/${rpc.name}`,
    ...(status === undefined ? {} : { rpc_status_code: status }),
    ...(status === undefined || !(code === "internal" || code === "unavailable") ? {} : { error_type: status }),
  };
}
