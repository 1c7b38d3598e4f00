import { fileURLToPath } from "node:url";
import { ClientAddresses } from "../http/admission/client-address.ts";
import { refuseConnection, refuseUnserved } from "../http/errors/failures.ts";
import { MergedMetrics } from "../http/metrics/merged-metrics.ts";
import { Metrics, type MetricValues } from "../http/metrics/metrics.ts";
import { Acceptor } from "../http/port/acceptor.ts";
import { createPolicies } from "../rate-limits/policy.ts";
import { type ClockOrigin, clockOrigin, clockSince } from "../workers/shared-clock.ts";
import { SharedLimits } from "../workers/shared-limits.ts";
import { createJournalFolder, removeJournalFolder, Supervisor } from "../workers/supervisor.ts";
import type { ServiceDatabase } from "./database.ts";
import { openListeners } from "./listeners.ts";
import { openParts } from "./parts.ts";
import { supervisorConfig, workerConfig } from "./shares.ts";
import { closeOf } from "./shutdown.ts";
import type { App, Startup } from "./startup.ts";
import type { WorkerSettings } from "./worker.ts";

const entry = fileURLToPath(new URL("../worker.ts", import.meta.url));

/**
 * Starts the service with several workers. This process does what exists once: it prepares the database, does the work in
 * the background, accepts connections, and runs the workers. It serves no request.
 */
export async function composeSupervisor(startup: Startup): Promise<App> {
  const { config, log, shutdown } = startup;
  const own = { ...startup, config: supervisorConfig(config) };
  const { reserved, metrics, url } = await openListeners(startup);
  const { database, times, gauges } = await openParts(own);
  const merged = new MergedMetrics();
  merged.add(new Metrics(gauges));
  const siteUrl = config.siteUrl ?? url;
  const acceptor = createAcceptor(startup);
  const settings = { database, siteUrl, clock: clockOrigin(times.even()) };
  await startWorkers(startup, { ...settings, acceptor, merged });
  shutdown.signal.throwIfAborted();
  await acceptor.listen(reserved.transferSocket());
  metrics?.show(merged);
  log.info({ url, siteUrl, metrics: metrics?.url, workers: config.workers }, "listening");
  return { url, metricsUrl: metrics?.url, close: closeOf(config, shutdown) };
}

function createAcceptor({ config }: Startup): Acceptor {
  const proxies = new ClientAddresses(config.trustProxy);
  return new Acceptor({
    maxConnections: config.maxConnections,
    maxConnectionsPerAddress: config.maxConnectionsPerAddress,
    isProxy: (address) => proxies.trusts(address),
    tooManyReply: config.tls ? undefined : refuseConnection,
    nobodyReply: config.tls ? undefined : refuseUnserved,
  });
}

interface WorkersParts {
  database: ServiceDatabase;
  siteUrl: string;
  clock: ClockOrigin;
  acceptor: Acceptor;
  merged: MergedMetrics;
}

/** Starts the workers, and resolves when all of them serve. */
async function startWorkers(startup: Startup, parts: WorkersParts): Promise<void> {
  const { config, log, shutdown, warnings } = startup;
  const { database, siteUrl, clock, acceptor, merged } = parts;
  const folder = await createJournalFolder();
  // The folder also goes if this process is ended by a second signal.
  process.once("exit", () => removeJournalFolder(folder));
  const limits = new SharedLimits({
    folder,
    writer: 0,
    policies: config.rateLimits && createPolicies(config.rateLimits),
    streams: config.streams,
    now: clockSince(clock),
    onFailure: (err) => log.error({ err }, "the limits that workers share cannot be written or read"),
  });
  shutdown.push(async () => {
    limits.close();
    removeJournalFolder(folder);
  }, "the limits of the workers");
  const supervisor = new Supervisor<WorkerSettings, MetricValues[]>({
    entry,
    count: config.workers,
    folder,
    limits,
    log,
    settingsOf: (worker) => ({
      config: workerConfig(config, worker),
      database: database.address,
      watchedFolder: database.watchedFolder,
      siteUrl,
      clock,
    }),
    warnings: () => warnings.entries,
    onReady(worker) {
      merged.add(worker);
      acceptor.add(worker);
    },
    onLeaving: (worker) => acceptor.remove(worker),
    onEnded(worker) {
      merged.remove(worker);
      acceptor.end(worker);
    },
    onTaken: (id) => acceptor.taken(id),
    onClosed: (ids) => acceptor.closed(ids),
    onNoneIdle: () => acceptor.foundNoneIdle(),
    readMetrics: () => merged.text(),
  });
  shutdown.announced.addEventListener("abort", () => supervisor.announceStop(), { once: true });
  process.once("exit", () => supervisor.kill());
  shutdown.push(async () => supervisor.kill(), "the workers");
  shutdown.push(() => Promise.all([acceptor.close(), supervisor.stop()]), "connections of clients");
  await supervisor.started;
}
