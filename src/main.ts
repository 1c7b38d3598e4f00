import { inspect } from "node:util";
import { type App, openLog, startApp } from "./app.ts";
import { readConfig } from "./config.ts";
import { leaveRoot } from "./leave-root.ts";

/** How long a process with a fault that nothing caught may take to close its connections and its database. */
const closeTimeoutMs = 5_000;

const start = new AbortController();
let log: ReturnType<typeof openLog> | undefined;
let app: App | undefined;

function stop(): void {
  if (start.signal.aborted) return;
  start.abort(new Error("Stopped before it was up."));
  if (app === undefined) return;
  process.stdout.write("Stopping: running calls may finish.\n");
  app.close().catch(fail);
}

function fail(error: unknown): void {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}

/** A fault that nothing caught leaves an unknown state behind: the process says why, and ends to be started anew. */
function end(error: unknown, origin: string): void {
  const err = error instanceof Error ? error : new Error(`not an Error: ${inspect(error)}`);
  const why = `The process ends: ${origin}: ${err.message}`;
  if (log?.isLevelEnabled("fatal")) log.fatal({ err, origin }, why);
  else process.stderr.write(`${why.replaceAll("\n", " ")}\n`);
  process.exitCode = 1;
  setTimeout(() => process.exit(), closeTimeoutMs).unref();
  stop();
}

process.on("SIGINT", stop);
process.on("SIGTERM", stop);
// Promises that nobody awaits arrive here as well, with the origin unhandledRejection.
process.on("uncaughtException", end);
try {
  const config = readConfig(process.env);
  const opened = openLog(config);
  log = opened;
  app = await startApp(config, { log, signal: start.signal, portOpened: () => leaveRoot(config, opened) });
  process.stdout.write(`Stoa answers at ${app.url}\n`);
} catch (error) {
  fail(error);
}
