import { type App, startApp } from "./app.ts";
import { readConfig } from "./config.ts";

const start = new AbortController();
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

process.on("SIGINT", stop);
process.on("SIGTERM", stop);
try {
  app = await startApp(readConfig(process.env), { signal: start.signal });
  process.stdout.write(`Stoa answers at ${app.url}\n`);
} catch (error) {
  fail(error);
}
