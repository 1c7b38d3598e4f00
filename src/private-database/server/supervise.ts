// Keeps a database server running until it is told to stop.
import { sleep, untilAborted } from "../../timing/wait.ts";
import { type Launch, launchServer, type ServerProcess } from "./server-process.ts";

const firstDelayMs = 100;
const longestDelayMs = 5_000;
/** After a server that ran this long, the delay before the restart is `firstDelayMs` again. */
const steadyMs = 60_000;

/**
 * Starts a server, and restarts it whenever it ends by itself.
 * @returns a function that ends it for good. It may be called at any time, also during a restart, and more than once.
 * If the server takes longer than the `timeoutMs` of the first call, it is killed
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
  while (!stopping.aborted) {
    if (server !== undefined) {
      const since = performance.now();
      const how = await untilAborted(server.ended, stopping).catch(() => undefined);
      if (stopping.aborted) break;
      if (performance.now() - since > steadyMs) delayMs = firstDelayMs;
      launch.log(`the database server ended unexpectedly (${how}); starting it again, see ${launch.logFile}`, "error");
    }
    server = await sleep(delayMs, stopping)
      .then(() => launchServer(launch, stopping))
      .catch((error: Error) => {
        if (!stopping.aborted) launch.log(error.message, "error");
        return undefined;
      });
    delayMs = Math.min(delayMs * 2, longestDelayMs);
    if (server !== undefined) launch.log("the database server is running again");
  }
  return server;
}
