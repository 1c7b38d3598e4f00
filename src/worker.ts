// A process that serves connections, one of several. The supervisor (main.ts) starts and ends it.
import { inspect } from "node:util";
import { Worker } from "./app/worker.ts";

/** How long a process with a fault that nothing caught may take to close its connections. */
const closeTimeoutMs = 5_000;

const worker = new Worker();

/** A fault that nothing caught leaves an unknown state behind: the worker says why, and ends to be started anew. */
function end(error: unknown, origin: string): void {
  const err = error instanceof Error ? error : new Error(`not an Error: ${inspect(error)}`);
  const why = `The worker ends: ${origin}: ${err.message}`;
  if (worker.log?.isLevelEnabled("fatal")) worker.log.fatal({ err, origin }, why);
  else process.stderr.write(`${why.replaceAll("\n", " ")}\n`);
  process.exitCode = 1;
  setTimeout(() => process.exit(), closeTimeoutMs).unref();
  worker.stop().finally(() => process.exit());
}

for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
// Ctrl-C and some supervisors of systems signal every process. The supervisor decides when a worker ends.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => {});
process.on("uncaughtException", end);
await worker.run().catch(() => {
  process.exitCode = 1;
});
process.exit();
