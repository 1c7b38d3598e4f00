import type { CallLimits } from "./call-limits.ts";

/**
 * Spends a further call of a stream; where hardly any is left, it waits until one has come back.
 * @throws the signal's reason when it aborts
 */
export async function pace(limits: CallLimits, signal: AbortSignal): Promise<void> {
  for (let waitMs = limits.spendMore(); waitMs > 0; waitMs = limits.spendMore()) {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const abort = () => reject(signal.reason);
    const timer = setTimeout(resolve, waitMs);
    if (signal.aborted) abort();
    signal.addEventListener("abort", abort, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener("abort", abort);
    }
  }
}
