import { pino } from "pino";
import type { ServiceTable } from "../../src/calls/service-table.ts";
import { Readiness } from "../../src/grpc-services/readiness.ts";
import { createToolServices } from "../../src/grpc-services/tools.ts";
import type { Handler } from "../../src/http/port/connection.ts";
import { Port } from "../../src/http/port/port.ts";
import { createServer } from "../../src/http/server.ts";
import { createRateLimiter } from "../../src/rate-limits/rate-limiter.ts";
import { defaultStreamLimits } from "../../src/rate-limits/stream-limits.ts";

/**
 * The service's transport without a database, which does not listen yet.
 * @param options write: gets the lines of the log, also those of requests
 * @throws Error if a contract or its implementation is at fault
 */
export async function createBareServer({
  services,
  shutdown = new AbortController().signal,
  authenticate = async () => undefined,
  write,
}: Pick<ServiceTable, "services"> & {
  shutdown?: AbortSignal;
  authenticate?: ServiceTable["authenticate"];
  write?: (line: string) => void;
}) {
  const table: ServiceTable = {
    services,
    authenticate,
    checkRegistration() {},
    keys: {
      shown: () => undefined,
      agentOf: () => undefined,
      findUnknown: async () => undefined,
      find: async () => undefined,
      refusalOfStreams: async () => undefined,
    },
    sharing: [],
    slow: new Map(),
    refuseKeys: async () => {},
    beginCall: () => 10_000,
  };
  const times = { headersTimeoutMs: 10_000, requestTimeoutMs: 20_000, idleTimeoutMs: 75_000, drainTimeoutMs: 100 };
  const handle: Handler = (_request, response) => void response.destroy();
  const port = new Port(times, { handle, refuse: (status) => ({ status, body: "{}" }) });
  const log = pino({ level: write === undefined ? "warn" : "info" }, { write: write ?? console.error });
  const readiness = new Readiness(async () => undefined, log, shutdown);
  const server = await createServer({
    table,
    tools: createToolServices(table, readiness, shutdown),
    checkReady: () => readiness.check(),
    shutdown,
    limiter: createRateLimiter(undefined, Date.now),
    streams: defaultStreamLimits,
    overload: { heapShare: undefined, residentBytes: undefined },
    trustProxy: [],
    logAddresses: "full",
    log,
    port,
  });
  return { server, port };
}
