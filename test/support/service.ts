import { randomBytes } from "node:crypto";
import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { pino } from "pino";

import { type App, type Overrides, startApp } from "../../src/app/app.ts";
import type { Config } from "../../src/config/config.ts";
import { verifiedAtStart } from "../../src/ledger/verification/verify-at-start.ts";
import { defaultStreamLimits } from "../../src/rate-limits/stream-limits.ts";
import { afterFile } from "./after-file.ts";
import { type Ask, askRest, type Reply } from "./ask-rest.ts";
import { createDatabaseWithSchema, type TestDatabase } from "./database.ts";
import { scratchFolder } from "./scratch-folder.ts";
import { waitUntil } from "./wait.ts";

export { type Ask, askRest, type Reply };

export interface Service {
  app: App;
  /** The root address. */
  url: string;
  db: TestDatabase;
  /** The log lines so far, parsed. */
  log: Record<string, unknown>[];
  /** Calls the REST API; paths without a leading slash are below /api/v1. A body makes it a POST. */
  rest(path: string, ask?: Ask): Promise<Reply>;
  /** Registers an agent, under a random name by default, and returns it with its key. */
  register(name?: string): Promise<{ name: string; key: string }>;
  connect<Desc extends DescService>(service: Desc, protocol?: "connect" | "grpc" | "grpc-web"): Client<Desc>;
}

export interface ServiceOptions {
  config?: Partial<Config>;
  overrides?: Overrides;
  /** The database of another instance, to start a second replica. */
  db?: TestDatabase;
}

/** Starts the real service on a free port, with a separate database. It stops after the last test of the file. */
export async function startService(options: ServiceOptions = {}): Promise<Service> {
  const db = options.db ?? (await createDatabaseWithSchema());
  const log: Record<string, unknown>[] = [];
  const stream = { write: (line: string) => void log.push(JSON.parse(line)) };
  const dataDir = scratchFolder();
  const app = await startApp(testConfig(db, { dataDir, ...options.config }), {
    log: pino({ level: "info" }, stream),
    // Tests change the chain in the database, and check at once what a verification finds.
    verificationAgeMs: 0,
    // A test that sets the clock means its days. Any other one would find a receipt more if midnight came in the middle of it.
    sealsDays: options.overrides?.now !== undefined || options.overrides?.clocks !== undefined,
    // Where a test moves the clock, a sweep would end what is unused or expired, or not, by chance.
    sweeps: false,
    ...options.overrides,
  });
  afterFile(() => app.close());
  // Wait for the work of the start: tests count queries, and lock rows that it reads.
  if (options.overrides?.log === undefined) {
    await waitUntil("the verification of the start", () => log.some(({ msg }) => msg === verifiedAtStart));
  }
  const rest: Service["rest"] = (path, ask) => askRest(app.url, path, ask);
  return {
    app,
    url: app.url,
    db,
    log,
    rest,
    async register(name = `agent-${randomBytes(6).toString("hex")}`) {
      const { status, body } = await rest("agents/register", { body: { name } });
      if (status !== 201) throw new Error(`registration failed: ${JSON.stringify(body)}`);
      return { name, key: body.api_key };
    },
    connect: (service, protocol) => connectTo(app.url, service, protocol),
  };
}

/** A client of a service at an address. */
export function connectTo<Desc extends DescService>(
  baseUrl: string,
  service: Desc,
  protocol: "connect" | "grpc" | "grpc-web" = "connect",
): Client<Desc> {
  if (protocol === "grpc") return createClient(service, createGrpcTransport({ baseUrl }));
  const createTransport = protocol === "grpc-web" ? createGrpcWebTransport : createConnectTransport;
  return createClient(service, createTransport({ baseUrl, httpVersion: "1.1" }));
}

function testConfig(db: TestDatabase, changes: Partial<Config> = {}): Config {
  return {
    host: "127.0.0.1",
    port: 0,
    siteUrl: undefined,
    database: db.config,
    migrationDatabase: undefined,
    ledgerTriggers: true,
    databaseConnections: 16,
    // Patience alone: tests of this time set one of their own.
    databaseTimeoutMs: 60_000,
    databaseWaitMs: 0,
    dataDir: "/nonexistent", // startService gives each service one of its own
    minFreeMiB: "default",
    operatorToken: undefined,
    operatorTokens: undefined,
    registration: { mode: "open", token: undefined },
    ledgerEpoch: undefined,
    boardLog: { mayBegin: true, origin: undefined, keyText: undefined },
    rateLimits: undefined,
    newAgentLimits: {},
    streams: defaultStreamLimits,
    // The memory of the test process says nothing about a service.
    overload: { heapShare: undefined, residentBytes: undefined },
    trustProxy: [],
    metrics: { host: "127.0.0.1", port: undefined, token: undefined },
    tls: undefined,
    logAddresses: "full",
    security: undefined,
    tracesUrl: undefined,
    traceResource: {},
    logLevel: "info",
    stopDelayMs: 0,
    drainTimeoutMs: 5_000,
    sendTimeoutMs: 45_000,
    maxUnsentBytesPerConnection: 16 * 1024 * 1024,
    maxUnsentBytes: 48 * 1024 * 1024,
    maxConnections: 8192,
    maxConnectionsPerAddress: 8192,
    warnings: [],
    ...changes,
  };
}
