// The service's transport alone, without a database: its port, its hooks and the standard services for gRPC tools.
import { pino } from "pino";
import { Readiness } from "../../src/grpc-services/readiness.ts";
import { createToolServices } from "../../src/grpc-services/tools.ts";
import type { Handler } from "../../src/http/port/connection.ts";
import { Port } from "../../src/http/port/port.ts";
import { createServer } from "../../src/http/server.ts";
import { createRateLimiter } from "../../src/rate-limits/rate-limiter.ts";
import { defaultStreamLimits } from "../../src/rate-limits/stream-limits.ts";

const shutdown = new AbortController();
const log = pino({ level: "warn" });
const readiness = new Readiness(async () => undefined, log, shutdown.signal);
const times = { headersTimeoutMs: 10_000, requestTimeoutMs: 60_000, idleTimeoutMs: 75_000, drainTimeoutMs: 1_000 };
const handle: Handler = (_request, response) => void response.destroy();
const port = new Port(times, { handle, refuse: (status) => ({ status, body: "{}" }) });
const server = await createServer({
  table: {
    services: [],
    sharing: [],
    slow: [],
    refuseKeys: async () => {},
    keys: {
      shown: () => undefined,
      agentOf: () => undefined,
      findUnknown: async () => undefined,
      find: async () => undefined,
      refusalOfStreams: async () => undefined,
    },
    authenticate: async () => undefined,
    checkRegistration() {},
    beginCall: () => 10_000,
  },
  tools: createToolServices({ services: [] }, readiness, shutdown.signal),
  checkReady: () => readiness.check(),
  shutdown: shutdown.signal,
  limiter: createRateLimiter(undefined, Date.now),
  streams: defaultStreamLimits,
  overload: { heapShare: undefined, residentBytes: undefined },
  trustProxy: [],
  logAddresses: "full",
  log,
  port,
});
server.serve();
const number = await port.listen({ host: "127.0.0.1", port: 0 });
process.stdout.write(`The transport answers at http://127.0.0.1:${number}\n`);
process.on("SIGTERM", () => {
  shutdown.abort(new Error("The service is stopping."));
  void server.close();
});
