import { type FastifyBaseLogger, fastify } from "fastify";
import { createInterceptors } from "../calls/interceptors.ts";
import type { InterceptorsOf, ServiceTable } from "../calls/service-table.ts";
import type { LogAddresses } from "../config/config.ts";
import { type GaugeSource, Metrics } from "../metrics/metrics.ts";
import { Overload, type OverloadLimits, type OverloadOptions } from "../process/overload.ts";
import type { RateLimiter } from "../rate-limits/request-limits.ts";
import type { StreamLimits } from "../rate-limits/stream-limits.ts";
import { Admission } from "./admission/admission.ts";
import { ClientAddresses } from "./admission/client-address.ts";
import { Edge, type ErrorPages } from "./edge/edge.ts";
import { RequestLog } from "./edge/request-log.ts";
import { Router, routable } from "./edge/router.ts";
import { addMetricsRoute } from "./health/metrics-route.ts";
import { addHealthRoutes } from "./health/routes.ts";
import type { Port } from "./port/port.ts";
import { RequestBodies } from "./requests/bodies.ts";
import { addRestRoutes } from "./rest/routes.ts";
import { answerUnknownRpc } from "./rpc/refusal.ts";
import { addRpcRoutes } from "./rpc/routes.ts";
import { OpenStreams } from "./streams/open-streams.ts";

/** What routes beside the API share with it. */
interface RouteParts {
  interceptors: InterceptorsOf;
  admission: Admission;
  streams: OpenStreams;
  bodies: RequestBodies;
}

export interface ServerOptions {
  table: ServiceTable;
  /** The innermost interceptors of the table's calls. */
  innermost?: InterceptorsOf | undefined;
  /** Shows failures as pages; without it they are never pages. */
  pages?: ErrorPages | undefined;
  /** Adds what is served beside the API and its health: pages, documents, MCP. */
  addRoutes?: ((router: Router, parts: RouteParts) => void) | undefined;
  /** The value of Strict-Transport-Security; undefined where clients may come without TLS. */
  transportSecurity?: string | undefined;
  /** Further services, which anybody may call, outside the contract's rules. */
  tools?: ServiceTable["services"];
  /** Whether requests can be served; see `addHealthRoutes`. */
  checkReady: () => Promise<string | undefined>;
  /** Aborts when the service begins to stop: new requests are refused, and streams without an end are ended. */
  shutdown: AbortSignal;
  limiter: RateLimiter;
  /** How many streams may be open, and for how long. */
  streams: StreamLimits;
  /** The memory use above which new work is refused. */
  overload: OverloadLimits;
  /** Reads the use of memory; by default that of this process. */
  memory?: OverloadOptions["probe"];
  /** The proxies whose X-Forwarded-For is believed; see `ClientAddresses`. */
  trustProxy: readonly string[];
  /** The bearer token for /metrics on this port; without it there is no such address. */
  metricsToken?: string | undefined;
  log: FastifyBaseLogger;
  logAddresses: LogAddresses;
  /** Further metrics besides those of requests. */
  gauges?: GaugeSource[];
  /** How often a REST stream sends a heartbeat, in milliseconds. */
  heartbeatMs?: number | undefined;
  /** It listens already. */
  port: Port;
}

export interface Server {
  readonly metrics: Metrics;
  /** Begins to serve the requests of the port. */
  serve(): void;
  /**
   * To be called once `shutdown` has aborted. Running calls finish within the drain time, and open connections are told to
   * close.
   */
  close(): Promise<void>;
}

const refuseSchemas = (): never => {
  throw new Error("Routes have no schemas: the contract has the rules of requests and responses.");
};

/** The longest parameter in a path that the router takes, in characters. Fastify would take 100. */
const maxParamLength = 65_536;

/** Builds the transport: REST by the facade, Connect, gRPC and gRPC-Web, the pages, and the health routes. */
export async function createServer(options: ServerOptions): Promise<Server> {
  const { table, shutdown, limiter, overload: limits, memory: probe, log, port, tools = [], gauges = [] } = options;
  const { pages, transportSecurity, metricsToken: token } = options;
  const app = fastify({
    // The edge logs each request, and gives it its id.
    logger: false,
    requestIdHeader: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength },
    // The contract checks requests and writes responses. Without these, Fastify would load two compilers of JSON schemas.
    schemaController: { compilersFactory: { buildValidator: refuseSchemas, buildSerializer: refuseSchemas } },
    rewriteUrl: routable,
    frameworkErrors: (_error, request, reply) => router.refuse(request, reply as never),
  });
  const interceptors = createInterceptors(table.refuseKeys, options.innermost);
  const bodies = new RequestBodies();
  const addresses = new ClientAddresses(options.trustProxy, () =>
    log.warn("an untrusted peer sends X-Forwarded-For or Forwarded: if it is your proxy, set STOA_TRUST_PROXY"),
  );
  const overload = new Overload({ limits, log, probe, onLasting: () => streams.shed() });
  const admission = new Admission({ limiter, addresses, table, overload, log });
  const streams = new OpenStreams({ limits: options.streams, addresses, overload, keys: table.keys, shutdown });
  const metrics = new Metrics([...gauges, ...loadGauges(streams, overload)]);
  const requestLog = new RequestLog(log, options.logAddresses);
  const edge = new Edge({ admission, metrics, requestLog, shutdown, pages, transportSecurity });
  const router = new Router(app, edge, answerUnknownRpc);
  const parts = { table, interceptors, admission, streams, bodies };
  addRestRoutes(router, { ...parts, heartbeatMs: options.heartbeatMs });
  addRpcRoutes(router, { ...parts, tools });
  options.addRoutes?.(router, parts);
  addHealthRoutes(router, options.checkReady);
  if (token !== undefined) addMetricsRoute(router, { metrics, token, admission });
  const drain = async () => {
    overload.stop();
    await streams.ended();
    await port.drained();
  };
  await app.ready();
  let closed: Promise<void> | undefined;

  return {
    metrics,
    serve: () => port.serve({ handle: app.routing, refuse: edge.refuse }),
    close() {
      // Not in a `preClose` hook: Fastify waits for one no longer than a plugin may take to load.
      closed ??= drain().then(() => app.close());
      return closed;
    },
  };
}

function loadGauges(streams: OpenStreams, overload: Overload): GaugeSource[] {
  return [
    { name: "stoa_streams_open", help: "Streams that are open.", read: () => streams.size },
    {
      name: "stoa_overload",
      help: "1 while the process is short of memory and refuses new work; else 0.",
      read: () => (overload.isActive ? 1 : 0),
    },
  ];
}
