import type { StoaError } from "./error.ts";

const firstWaitMs = 250;
const maxBackoffMs = 30_000;
/** After a connection that lasted this long, in milliseconds, the waits start from the shortest again. */
export const goodConnectionMs = 10_000;

/**
 * The wait before the next try, in milliseconds. It doubles each time, up to half a minute. Chance shortens it by up to a
 * half, so that many clients do not come back together. It is at least as long as the service asks.
 * @param failures the number of failed tries in a row, less one
 */
export function waitBefore(failures: number, error: StoaError): number {
  const backoffMs = Math.min(maxBackoffMs, firstWaitMs * 2 ** failures) * (0.5 + Math.random() / 2);
  return Math.max(backoffMs, (error.retryAfterSeconds ?? 0) * 1000);
}

/** Resolves after `ms` milliseconds. @throws the signal's reason when it aborts */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve } = Promise.withResolvers<unknown>();
  const timer = setTimeout(resolve, ms);
  signal?.addEventListener("abort", resolve);
  await promise;
  clearTimeout(timer);
  signal?.removeEventListener("abort", resolve);
  signal?.throwIfAborted();
}
