import { sleep } from "../timing/wait.ts";
import type { RequestLimits } from "./request-limits.ts";

/**
 * Spends one more call of a stream. Where hardly any are left, it waits until one is available again.
 * @throws the signal's reason when it aborts
 */
export async function pace(limits: RequestLimits, signal: AbortSignal): Promise<void> {
  for (let waitMs = limits.spendMore(); waitMs > 0; waitMs = limits.spendMore()) await sleep(waitMs, signal);
}
