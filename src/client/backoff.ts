import type { StoaError } from "./error.ts";

const firstWaitMs = 250;
const longestWaitMs = 30_000;

/**
 * How long to wait before another try, in milliseconds: twice as long each time, up to half a minute, less up to a half by
 * chance, so that many clients do not come back at once; and at least as long as the service asks.
 * @param failures how many tries in a row have failed, less one
 */
export function waitBefore(failures: number, error: StoaError): number {
  const backoffMs = Math.min(longestWaitMs, firstWaitMs * 2 ** failures) * (0.5 + Math.random() / 2);
  return Math.max(backoffMs, (error.retryAfterSeconds ?? 0) * 1000);
}

/** @throws the signal's reason when it aborts */
export async function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    signal?.addEventListener("abort", end, { once: true });
  });
  signal?.throwIfAborted();
}
