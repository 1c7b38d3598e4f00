import { addGuideRoutes } from "../api-docs/guide/routes.ts";
import { addOpenApiRoutes } from "../api-docs/openapi/routes.ts";
import { InboxStreams } from "../board/inbox/streams.ts";
import { WriteLimits } from "../board/write-limits.ts";
import { boundReads } from "../calls/reads.ts";
import { type CheckReady, Readiness } from "../grpc-services/readiness.ts";
import { createToolServices } from "../grpc-services/tools.ts";
import type { Port } from "../http/port/port.ts";
import { createServer, type Server } from "../http/server.ts";
import { addMcpRoutes } from "../mcp/routes.ts";
import { createNewAgentPolicies } from "../rate-limits/new-agents.ts";
import { createPolicies } from "../rate-limits/policy.ts";
import { createRateLimiter } from "../rate-limits/rate-limiter.ts";
import type { OperatorTokens } from "../services/operator-tokens.ts";
import { createServiceTable } from "../services/table.ts";
import { Site } from "../site/site.ts";
import { transportSecurityOf } from "./listeners.ts";
import type { Parts } from "./parts.ts";
import { checkReady } from "./readiness.ts";
import type { Startup } from "./startup.ts";

export interface ServedParts extends Parts {
  /** The public root address. */
  siteUrl: string;
  /** The tokens of internal services; undefined if there are none. */
  operators: OperatorTokens | undefined;
  port: Port;
}

/**
 * Node cuts small buffers from a larger pool, which stays in memory as long as one of them does. With Node's pool of
 * 64 KiB, thousands of waiting clients with a few KiB each would take up to ten times as much.
 */
const bufferPoolBytes = 8 * 1024;

/** Creates the server with API, pages, documents, health and metrics. It does not serve yet. */
export async function createStoaServer(startup: Startup, parts: ServedParts): Promise<Server> {
  Buffer.poolSize = bufferPoolBytes;
  const { config, overrides, log, shutdown, warnings } = startup;
  const { database, board, ledger, boardLog, times, siteUrl } = parts;
  const { rateLimits, registration } = config;
  const policies = rateLimits && createPolicies(rateLimits);
  const newAgentPolicies = rateLimits ? createNewAgentPolicies(rateLimits, config.newAgentLimits) : {};
  const table = createServiceTable({
    board,
    ledger,
    boardLog,
    inboxes: new InboxStreams(database.db, board, shutdown.signal, log),
    siteUrl,
    operators: parts.operators,
    registration,
    writeLimits: policies && new WriteLimits(policies, newAgentPolicies),
  });
  const site = new Site({
    siteUrl,
    now: times.now,
    registration: registration.mode,
    hasLog: () => boardLog.current !== undefined,
    security: config.security,
  });
  const checkAll: CheckReady = async (signal) => {
    const newer = await checkReady(database.db, ledger, signal);
    return [newer, warnings.text].filter(Boolean).join(" ") || undefined;
  };
  const readiness = new Readiness(checkAll, log, shutdown.signal, shutdown.announced);
  const server = await createServer({
    table,
    innermost: boundReads(table),
    pages: site,
    addRoutes(router, { interceptors, admission, streams, bodies }) {
      site.addRoutes(router, table, interceptors);
      const { mode } = registration;
      const guide = addGuideRoutes(router, { table, siteUrl, policies, newAgentPolicies, registration: mode });
      addMcpRoutes(router, {
        table,
        interceptors,
        admission,
        streams,
        heartbeatMs: overrides.heartbeatMs,
        bodies,
        registration: mode,
        siteUrl,
        guide,
        log,
      });
      const described = table.services.map(({ service }) => service);
      addOpenApiRoutes(router, described, mode, siteUrl, (page) => site.frameApi(page));
    },
    transportSecurity: transportSecurityOf(config),
    log,
    logAddresses: config.logAddresses,
    limiter: createRateLimiter(policies, times.even, { policies: newAgentPolicies, now: times.now }),
    streams: config.streams,
    overload: config.overload,
    memory: overrides.memory,
    trustProxy: config.trustProxy,
    shutdown: shutdown.signal,
    tools: createToolServices(table, readiness, shutdown.signal),
    checkReady: () => readiness.check(),
    gauges: parts.gauges,
    metricsToken: config.metrics.token,
    heartbeatMs: overrides.heartbeatMs,
    port: parts.port,
  });
  shutdown.push(() => server.close(), "connections of clients");
  return server;
}
