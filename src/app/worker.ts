import { rmSync } from "node:fs";
import type { Logger } from "pino";
import { Board } from "../board/board.ts";
import type { Config, DatabaseConfig } from "../config/config.ts";
import type { MetricValues } from "../http/metrics/metrics.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { SealChecks } from "../ledger/sealing/seal-checks.ts";
import { createPolicies } from "../rate-limits/policy.ts";
import { Database } from "../store/database/database.ts";
import { FreeSpace } from "../store/database/free-space.ts";
import { Ticker } from "../timing/ticker.ts";
import { mergedText, Warnings } from "../warnings.ts";
import type { WorkerStart } from "../workers/messages.ts";
import { type ClockOrigin, clockSince } from "../workers/shared-clock.ts";
import { SharedLimits } from "../workers/shared-limits.ts";
import { SupervisorLink } from "../workers/supervisor-link.ts";
import { startClock } from "./clock.ts";
import { gaugesOfProcess } from "./gauges.ts";
import { openLedger } from "./ledger.ts";
import { openLog } from "./log.ts";
import { createStoaServer, type Sharing } from "./server.ts";
import { workerBodies } from "./shares.ts";
import { Shutdown } from "./shutdown.ts";
import type { Startup } from "./startup.ts";
import { startTracing } from "./tracing.ts";

/** What a worker gets from the supervisor. It reads no settings itself. */
export interface WorkerSettings {
  config: Config;
  /** The database, which the supervisor has prepared. */
  database: DatabaseConfig;
  /** The folder whose disk is watched for free space; undefined where none is. */
  watchedFolder: string | undefined;
  siteUrl: string;
  clock: ClockOrigin;
}

/** How often the alarm of the ledger is read, in milliseconds. */
const alarmMs = 10_000;

/** A process that serves connections which the supervisor accepts. */
export class Worker {
  readonly #link = new SupervisorLink<WorkerSettings, MetricValues[]>(() => this.#lost());
  #folder: string | undefined;
  #log: Logger | undefined;
  #shutdown: Shutdown | undefined;
  #drainTimeoutMs = 0;
  /** What the supervisor warns of. */
  #warnings: [name: string, text: string | undefined][] = [];

  get log(): Logger | undefined {
    return this.#log;
  }

  /** Serves until the supervisor ends this worker. @throws Error when it cannot start */
  async run(): Promise<void> {
    // A worker that is still starting has nothing to finish.
    const given = await Promise.race([this.#link.start, this.#link.stopped]);
    if (given === undefined) return;
    const { settings, folder, worker } = given;
    const { config } = settings;
    this.#folder = folder;
    this.#drainTimeoutMs = config.drainTimeoutMs;
    const log = openLog(config).child({ worker });
    this.#log = log;
    const shutdown = new Shutdown((message) => log.warn(message));
    this.#shutdown = shutdown;
    void this.#link.stopAnnounced.then(() => shutdown.announce());
    void this.#link.stopped.then(() => this.stop());
    try {
      const startup = { config, overrides: {}, log, shutdown, warnings: new Warnings(), sealChecks: new SealChecks() };
      await startTracing(startup);
      await this.#serve(startup, given);
    } catch (error) {
      if (shutdown.signal.aborted) return;
      this.#link.fail(error instanceof Error ? error.message : String(error));
      throw error;
    }
    await this.#link.stopped;
    await this.stop();
  }

  /** Ends the worker: it takes no further connections, and running calls may finish. */
  async stop(): Promise<void> {
    this.#link.leave();
    await this.#shutdown?.run(this.#drainTimeoutMs);
  }

  async #serve(startup: Startup, start: WorkerStart<WorkerSettings>): Promise<void> {
    const { config, log, shutdown, warnings } = startup;
    const { siteUrl } = start.settings;
    const db = await openWorkerDatabase(startup, start.settings);
    const times = await startClock(startup, db);
    const board = new Board(db, times.now, times.expiryNow);
    const ledger = await openLedger(startup, db, times.now);
    followAlarm(startup, db, ledger);
    const limits = new SharedLimits({
      folder: start.folder,
      writer: start.writer,
      policies: config.rateLimits && createPolicies(config.rateLimits),
      streams: config.streams,
      now: clockSince(start.settings.clock),
      state: start.limits,
      onSegment: (segment) => this.#link.needsSegment(segment),
      onFailure: (err) => log.error({ err }, "the limits that workers share cannot be written or read"),
    });
    shutdown.push(async () => limits.close(), "the shared limits");
    const server = await createStoaServer(startup, {
      database: { db },
      board,
      ledger,
      times,
      siteUrl,
      gauges: gaugesOfProcess(ledger, db),
      warning: () => mergedText(warnings.entries, this.#warnings),
      sharing: this.#sharing(config, limits),
    });
    const taker = await server.join();
    shutdown.signal.throwIfAborted();
    this.#link.ready({
      take: (socket) => taker.take(socket),
      closeIdle: () => taker.closeIdle(),
      metrics: () => server.metrics.values(),
      warn: (given) => {
        this.#warnings = given;
      },
    });
  }

  #sharing(config: Config, limits: SharedLimits): Sharing {
    const nobody = Number.POSITIVE_INFINITY;
    return {
      limitOf: limits.limitOf,
      slots: limits.streams,
      shownMetrics: { contentType: "text/plain; version=0.0.4; charset=utf-8", text: () => this.#link.allMetrics() },
      port: {
        bodies: workerBodies(config),
        // The supervisor holds the limits of connections.
        connections: { maxConnections: nobody, maxConnectionsPerAddress: nobody, isProxy: () => true },
      },
    };
  }

  /** Without the supervisor nobody accepts connections, and nobody ends this process. */
  #lost(): void {
    if (this.#folder !== undefined) rmSync(this.#folder, { recursive: true, force: true });
    process.exit(1);
  }
}

async function openWorkerDatabase(
  { config, shutdown, sealChecks }: Startup,
  { database, watchedFolder }: WorkerSettings,
): Promise<Database> {
  const { minFreeMiB } = config;
  // The supervisor logs what it finds about the same disk.
  const log = { info() {}, warn() {} };
  const isWatched = watchedFolder !== undefined && minFreeMiB !== "off";
  const space = isWatched ? await FreeSpace.watch({ folder: watchedFolder, minFreeMiB, log }) : undefined;
  shutdown.push(async () => space?.stop(), "the free space watch");
  const db = new Database({
    address: database,
    connections: config.databaseConnections,
    timeoutMs: config.databaseTimeoutMs,
    refusal: () => space?.refusal,
  });
  shutdown.push(() => db.close(), "connections to the database");
  sealChecks.add(async () => space?.refusal?.message);
  return db;
}

/** Reads the alarm that any process may have raised, and tries again to store one that this process could not store. */
function followAlarm({ log, shutdown }: Startup, db: Database, ledger: Ledger): void {
  const read = async (signal: AbortSignal) => void (await ledger.verifier.alarm.refresh(db.priority.reader(signal)));
  const ticker = new Ticker(alarmMs, read, (err) => log.warn({ err }, "the ledger's alarm could not be read"));
  shutdown.push(() => ticker.stop(), "the reading of the alarm");
}
