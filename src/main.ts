import { inspect } from "node:util";
import { type App, openLog, openOutput, startApp } from "./app/app.ts";
import { endProcess } from "./app/end-process.ts";
import { leaveRoot } from "./app/leave-root.ts";
import { readConfig } from "./config/config.ts";

/** How long a process with a fault that nothing caught may take to close its connections and its database. */
const closeTimeoutMs = 5_000;
/** How long a stop may take besides the time in which running calls may finish: after that the process just ends. */
const stopTimeoutMs = 9_500;
/** How long the end of a stop waits for somebody to read what this process has written. */
const lastWordsMs = 500;
/** A signal that comes sooner after the first is the same one: Ctrl-C in a terminal reaches this process and npm, which hands it on. */
const sameSignalMs = 1_000;

const stdout = openOutput(process.stdout);
const stderr = openOutput(process.stderr);
const start = new AbortController();
let log: ReturnType<typeof openLog> | undefined;
let app: App | undefined;
/** How long a stop may take: the delay before it, and the time in which running calls may finish. */
let graceMs = 0;
let stoppingSince: number | undefined;
/** Whether the tokens are to be read again as soon as the service is up. */
let hasNewTokens = false;

/** The first signal stops the service in order; another one ends the process at once. */
function onSignal(): void {
  if (stoppingSince === undefined) stop();
  else if (performance.now() - stoppingSince >= sameSignalMs) {
    stderr.write("Ended at once by a second signal.\n");
    endProcess(1);
  }
}

/** @param atOnce whether the service does not serve on for a while before it stops */
function stop(atOnce = false): void {
  if (stoppingSince !== undefined) return;
  stoppingSince = performance.now();
  setTimeout(giveUp, graceMs + stopTimeoutMs).unref();
  if (app === undefined) {
    start.abort(new Error("Stopped before the start was complete."));
    return;
  }
  stdout.write("Stopping: running calls may finish.\n");
  app
    .close({ atOnce })
    .catch(fail)
    .finally(() => setTimeout(endProcess, lastWordsMs).unref());
}

/** An operator has changed the file of tokens. */
function readTokensAgain(): void {
  hasNewTokens = app === undefined;
  app?.readTokensAgain();
}

/** Ends the process although a database or a disk still does not answer. No acknowledged write depends on the rest. */
function giveUp(): void {
  log?.warn("the process ends although some of its work still runs");
  endProcess();
}

function fail(error: unknown): void {
  stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** A fault that nothing caught leaves an unknown state behind: the process says why, and ends to be started anew. */
function end(error: unknown, origin: string): void {
  const err = error instanceof Error ? error : new Error(`not an Error: ${inspect(error)}`);
  const why = `The process ends: ${origin}: ${err.message}`;
  if (log?.isLevelEnabled("fatal")) log.fatal({ err, origin }, why);
  else stderr.write(`${why.replaceAll("\n", " ")}\n`);
  process.exitCode = 1;
  setTimeout(endProcess, closeTimeoutMs).unref();
  stop(true);
  // A stop may be waiting already.
  app?.close({ atOnce: true }).catch(() => {});
}

// The reader of these streams may close them, and the service keeps running.
for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
// Promises that nobody awaits arrive here as well, with the origin unhandledRejection.
process.on("uncaughtException", end);
try {
  // Until the settings are read, the process ends by a signal as Node.js ends it. Afterwards nothing blocks the process.
  const config = readConfig(process.env);
  process.on("SIGINT", onSignal);
  process.on("SIGTERM", onSignal);
  // Without such a file, the process ends with its terminal, as others do.
  if (config.operatorTokens !== undefined) process.on("SIGHUP", readTokensAgain);
  const opened = openLog(config, stdout);
  log = opened;
  graceMs = config.stopDelayMs + config.drainTimeoutMs;
  app = await startApp(config, { log, signal: start.signal, portOpened: () => leaveRoot(config, opened) });
  if (hasNewTokens) app.readTokensAgain();
  stdout.write(`Stoa answers at ${app.url}\n`);
  const { port } = config.metrics;
  if (app.metricsUrl === undefined && port !== undefined)
    stdout.write(`Metrics are off: port ${port.number} is in use. Set STOA_METRICS_PORT to another one, or to none.\n`);
  if (start.signal.aborted) await app.close({ atOnce: true });
} catch (error) {
  // An operator who stops the service during its start gets a stop, not a failure.
  if (start.signal.aborted) stdout.write("Stopped before the start was complete.\n");
  else fail(error);
}
