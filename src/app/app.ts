import type { FastifyBaseLogger } from "fastify";
import { type Logger, pino } from "pino";
import { addGuideRoutes } from "../api-docs/guide/routes.ts";
import { addOpenApiRoutes } from "../api-docs/openapi/routes.ts";
import { moveAgedPosts } from "../board/aging.ts";
import { Board } from "../board/board.ts";
import { startSweep } from "../board/sweep.ts";
import { forgetAddresses, WriteLimits } from "../board/write-limits.ts";
import { type Config, describeConfig } from "../config/config.ts";
import { ClientAddresses } from "../http/admission/client-address.ts";
import { MetricsListener } from "../http/metrics/listener.ts";
import { reservePort } from "../http/port/reserve-port.ts";
import { createServer } from "../http/server.ts";
import { sweepReplies } from "../idempotency/reply-sweep.ts";
import { Ledger } from "../ledger/ledger.ts";
import { startDailySealing } from "../ledger/sealing/daily-sealing.ts";
import { SealChecks } from "../ledger/sealing/seal-checks.ts";
import { verifyAtStart } from "../ledger/verification/verify-at-start.ts";
import { readFileLimit, warnOfFileLimit } from "../process/file-limit.ts";
import { LogOutput } from "../process/log-output.ts";
import { createPolicies } from "../rate-limits/policy.ts";
import { createServiceTable } from "../services/table.ts";
import { Site } from "../site/site.ts";
import { Database } from "../store/database/database.ts";
import { tlsFailure } from "../store/database/database-errors.ts";
import { TriggerWatch } from "../store/schema/trigger-watch.ts";
import { untilAborted, waitFor } from "../timing/wait.ts";
import { Warnings } from "../warnings.ts";
import { startClock } from "./clock.ts";
import { migrateAs, type OwnDatabase, startOwnDatabase } from "./databases.ts";
import { gaugesOf } from "./gauges.ts";
import { createGuard } from "./head-guard.ts";
import type { Overrides } from "./overrides.ts";
import { checkReady, watchDatabase } from "./readiness.ts";
import { startRecount } from "./recount.ts";
import { CleanUp } from "./shutdown.ts";

export type { Overrides } from "./overrides.ts";

/** How long a start that was given up may take to end by itself, in milliseconds. */
const givenUpMs = 3_000;

export interface App {
  /** The address of the service, such as http://127.0.0.1:8080. */
  readonly url: string;
  /** The address of the metrics; undefined where they have no listener of their own. */
  readonly metricsUrl: string | undefined;
  /**
   * Stops the service: running calls finish within the drain time, then connections, pool and private server end. Resolves
   * within the drain time and 9 s, whatever does not answer.
   */
  close(): Promise<void>;
}

/** The log: JSON lines on standard output. */
export function openLog({ logLevel }: Pick<Config, "logLevel">): Logger {
  return pino({ level: logLevel }, new LogOutput(process.stdout.fd));
}

/**
 * Composes the service, brings its database up to date and starts to listen.
 * @throws Error with one line for the operator when it cannot start; nothing is left running then
 */
export async function startApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const log: FastifyBaseLogger = overrides.log ?? openLog(config);
  log.info(describeConfig(config), "starting");
  for (const warning of config.warnings) log.warn(warning);
  const { maxConnections: connections, databaseConnections } = config;
  const fileWarning = warnOfFileLimit(readFileLimit(), { connections, databaseConnections });
  if (fileWarning !== undefined) log.warn(fileWarning);
  const cleanUp = new CleanUp((message) => log.warn(message));
  const { signal = new AbortController().signal } = overrides;
  const compose = async () => {
    const reserved = await reservePort(config, config.tls);
    cleanUp.push(() => reserved.close(), "the reserved port");
    const metrics = await MetricsListener.open(config.metrics, log);
    if (metrics !== undefined) cleanUp.push(() => metrics.close(), "the metrics");
    const url = `${config.tls ? "https" : "http"}://${hostInUrl(config.host)}:${reserved.port}`;
    const siteUrl = () => config.siteUrl ?? url;
    await overrides.portOpened?.();
    signal.throwIfAborted();
    const own = config.database ? undefined : await startOwnDatabase(config, log, cleanUp, signal);
    const database = config.database ?? (own as OwnDatabase).serving;
    signal.throwIfAborted();
    const db = new Database({
      address: database,
      connections: config.databaseConnections,
      timeoutMs: config.databaseTimeoutMs,
      refusal: () => own?.space?.refusal,
    });
    cleanUp.push(() => db.close(), "connections to the database");
    const migrating = config.migrationDatabase ?? own?.migrating;
    const unguarded = await migrateAs(migrating ?? database, log, { cleanUp, signal, space: own?.space });
    await own?.migrated();
    const triggers = new TriggerWatch(db, migrating, unguarded, overrides.triggerLookMs);

    const sealChecks = new SealChecks();
    sealChecks.add(async () => own?.space?.refusal?.message);
    const warnings = new Warnings();
    const { now, even, expiryNow } = await startClock(overrides, db, log, { sealChecks, warnings, cleanUp });
    const board = new Board(db, now, expiryNow);
    const guard = createGuard(config, { db, log, sealChecks, warnings, lookMs: overrides.guardLookMs });
    cleanUp.push(() => guard.stop(), "the guard of the head");
    const ledger = await Ledger.open({
      db,
      now,
      log,
      sealChecks,
      guard,
      epoch: config.ledgerEpoch,
      maxWaitMs: overrides.verificationWaitMs,
      maxReportAgeMs: overrides.verificationAgeMs,
      signal,
    });
    warnings.add("ledger", () => ledger.verifier.alarm.text);
    warnings.add("triggers", () => triggers.warning);
    warnings.add("disk", () => own?.space?.warning);
    const refusesWrites = () => db.refusal !== undefined;
    const lookMs = overrides.databaseLookMs;
    watchDatabase({ address: database, log, lookMs, refusesWrites }, { ledger, warnings, cleanUp });
    const startVerification = verifyAtStart(ledger.verifier, log);
    cleanUp.push(() => startVerification.stop(), "the verification at the start");
    const clock = startDailySealing(ledger, now, log);
    cleanUp.push(() => clock.stop(), "the daily clock");
    // Apart, for posts can take a minute when a large board has just been migrated.
    for (const tasks of [[moveAgedPosts], [sweepReplies, forgetAddresses]]) {
      const sweep = startSweep(board, tasks, log);
      cleanUp.push(() => sweep.stop(), "a sweep");
    }
    const recountGauges = startRecount(board, { log, warnings, cleanUp, pace: overrides.recountPace });
    const policies = config.rateLimits && createPolicies(config.rateLimits);
    const table = createServiceTable({
      board,
      ledger,
      siteUrl,
      operatorToken: config.operatorToken,
      writeLimits: policies && new WriteLimits(policies),
    });
    const proxies = new ClientAddresses(config.trustProxy);
    const site = new Site({ siteUrl, now });
    const server = await createServer({
      table,
      pages: site,
      addRoutes(app, interceptors) {
        site.addRoutes(app, table, interceptors);
        addGuideRoutes(app, { table, siteUrl, policies });
        const services = table.services.map(({ service }) => service);
        addOpenApiRoutes(app, services, siteUrl);
      },
      isSecure: siteUrl().startsWith("https://"),
      log,
      logAddresses: config.logAddresses,
      limits: { policies, now: even },
      streams: config.streams,
      overload: config.overload,
      memory: overrides.memory,
      trustProxy: config.trustProxy,
      checkReady: async (signal) => {
        await checkReady(db, ledger, signal);
        return warnings.text;
      },
      beforeDrain: () => ledger.stop(),
      gauges: [...gaugesOf(ledger, db, warnings, own?.space), ...recountGauges],
      metricsToken: config.metrics.token,
      heartbeatMs: overrides.heartbeatMs,
      port: {
        tls: config.tls,
        headersTimeoutMs: overrides.timeouts?.headersMs ?? 10_000,
        requestTimeoutMs: overrides.timeouts?.requestMs ?? 60_000,
        idleTimeoutMs: overrides.timeouts?.idleMs ?? 75_000,
        drainTimeoutMs: config.drainTimeoutMs,
        sending: {
          sendTimeoutMs: config.sendTimeoutMs,
          maxUnsentPerConnection: config.maxUnsentBytesPerConnection,
          maxUnsent: config.maxUnsentBytes,
        },
        connections: {
          maxConnections: config.maxConnections,
          maxConnectionsPerAddress: config.maxConnectionsPerAddress,
          isProxy: (address) => proxies.trusts(address),
        },
      },
    });
    cleanUp.push(() => server.close(), "connections of clients");
    signal.throwIfAborted();
    await server.listen(reserved.handOver());
    metrics?.show(server.metrics);
    log.info({ url, siteUrl: siteUrl(), metrics: metrics?.url }, "listening");
    return { url, metricsUrl: metrics?.url, close: () => cleanUp.run(config.drainTimeoutMs) };
  };
  try {
    return await orGivenUp(compose(), signal);
  } catch (error) {
    // What a start that was given up has taken is no longer there for the steps.
    await cleanUp.run(signal.aborted ? -givenUpMs : 0);
    const reason = tlsFailure(error);
    throw reason === undefined ? error : new Error(`The database cannot be used: ${reason}.`, { cause: error });
  }
}

/**
 * The outcome of a start. One that was given up and does not end by itself is left behind: `CleanUp` ends what it still
 * makes.
 * @throws the signal's reason
 */
async function orGivenUp<Result>(starting: Promise<Result>, signal: AbortSignal): Promise<Result> {
  try {
    return await untilAborted(starting, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return await waitFor(starting, { ms: givenUpMs, onTimeout: ({ reject }) => reject(signal.reason) });
  }
}

function hostInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}
