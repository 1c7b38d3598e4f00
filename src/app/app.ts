import type { Config } from "../config/config.ts";
import { SealChecks } from "../ledger/sealing/seal-checks.ts";
import { untilAborted, waitFor } from "../timing/wait.ts";
import { Warnings } from "../warnings.ts";
import { openListeners } from "./listeners.ts";
import { logSettings, openLog } from "./log.ts";
import { openOperators } from "./operators.ts";
import type { Overrides } from "./overrides.ts";
import { openParts } from "./parts.ts";
import { createStoaServer } from "./server.ts";
import { Shutdown } from "./shutdown.ts";
import type { App, Startup } from "./startup.ts";
import { startTracing } from "./tracing.ts";

export { openLog, openOutput } from "./log.ts";
export type { Overrides } from "./overrides.ts";
export type { App } from "./startup.ts";

/** How long an aborted start may take to end by itself, in milliseconds. */
const abortedStartTimeoutMs = 3_000;

/**
 * Starts the service.
 * @throws Error with one line for the operator when it cannot start; nothing is left running then
 */
export async function startApp(config: Config, overrides: Overrides = {}): Promise<App> {
  const log = overrides.log ?? openLog(config);
  logSettings(config, log);
  const shutdown = new Shutdown((message) => log.warn(message), overrides.signal);
  const startup = { config, overrides, log, shutdown, warnings: new Warnings(), sealChecks: new SealChecks() };
  try {
    await startTracing(startup);
    return await orAborted(compose(startup), shutdown.signal);
  } catch (error) {
    // An aborted start may have used this much of the time for the stop.
    await shutdown.run(shutdown.signal.aborted ? -abortedStartTimeoutMs : 0);
    throw error;
  }
}

/** The steps of the start. Each adds to `startup.shutdown` the step that ends it. */
async function compose(startup: Startup): Promise<App> {
  const { config, log, shutdown } = startup;
  const { port, metrics, url } = await openListeners(startup);
  const siteUrl = config.siteUrl ?? url;
  const parts = await openParts(startup, siteUrl);
  const operators = openOperators(startup);
  const server = await createStoaServer(startup, { ...parts, operators: operators.tokens, siteUrl, port });
  shutdown.signal.throwIfAborted();
  server.serve();
  metrics?.show(server.metrics);
  log.info({ url, siteUrl, metrics: metrics?.url }, "listening");
  const { stopDelayMs, drainTimeoutMs } = config;
  return {
    url,
    metricsUrl: metrics?.url,
    readTokensAgain: operators.readAgain,
    close: ({ atOnce = false } = {}) => shutdown.runAfter(atOnce ? 0 : stopDelayMs, drainTimeoutMs),
  };
}

/**
 * Waits for the start. If the signal aborts and the start does not end in time, this stops waiting: `Shutdown` ends
 * what the start still opens.
 * @throws the failure of the start; the signal's reason
 */
async function orAborted<Result>(starting: Promise<Result>, signal: AbortSignal): Promise<Result> {
  try {
    return await untilAborted(starting, signal);
  } catch (error) {
    if (!signal.aborted) throw error;
    return await waitFor(starting, { ms: abortedStartTimeoutMs, onTimeout: ({ reject }) => reject(signal.reason) });
  }
}
