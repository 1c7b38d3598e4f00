import { sleep, untilAborted } from "../../timing/wait.ts";
// Keeps a database server running until it is told to stop.
import { type Launch, launchServer, type ServerProcess } from "./server-process.ts";

const firstDelayMs = 100;
const longestDelayMs = 5_000;
/** A server that ran this long before it died is started again without delay. */
const steadyMs = 60_000;

/**
 * Starts a server, and restarts it whenever it ends by itself.
 * @returns a function that ends it for good. It may be called at any time, also during a restart, and more than once. A
 * server that takes longer than the `timeoutMs` of the first call is killed
 * @throws what `launchServer` throws when the first start fails
 */
export async function supervise(launch: Launch, signal: AbortSignal): Promise<(timeoutMs?: number) => Promise<void>> {
  const stopping = new AbortController();
  const first = await launchServer(launch, signal);
  let timeoutMs: number | undefined;
  const finished = keepRunning(first, launch, stopping.signal).then((last) => last?.end(timeoutMs));
  return (bound) => {
    if (!stopping.signal.aborted) timeoutMs = bound;
    stopping.abort();
    return finished;
  };
}

/** @returns the server that was running when `stopping` aborted; undefined if none was */
async function keepRunning(
  first: ServerProcess,
  launch: Launch,
  stopping: AbortSignal,
): Promise<ServerProcess | undefined> {
  let server: ServerProcess | undefined = first;
  let delayMs = firstDelayMs;
  while (server !== undefined) {
    const since = performance.now();
    const how = await untilAborted(server.ended, stopping).catch(() => undefined);
    if (stopping.aborted) return server;
    if (performance.now() - since > steadyMs) delayMs = firstDelayMs;
    launch.log(`the database server ended unexpectedly (${how}); starting it again, see ${launch.logFile}`, "error");
    server = undefined;
    while (server === undefined && !stopping.aborted) {
      await sleep(delayMs, stopping).catch(() => {});
      delayMs = Math.min(delayMs * 2, longestDelayMs);
      server = await restarted(launch, stopping);
    }
  }
  return undefined;
}

async function restarted(launch: Launch, stopping: AbortSignal): Promise<ServerProcess | undefined> {
  try {
    const server = await launchServer(launch, stopping);
    launch.log("the database server is running again");
    return server;
  } catch (error) {
    if (!stopping.aborted) launch.log(error instanceof Error ? error.message : String(error), "error");
    return undefined;
  }
}
