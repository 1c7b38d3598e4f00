import { sleep } from "../timing/wait.ts";
import type { CallLimits } from "./call-limits.ts";

/**
 * Spends a further call of a stream; where hardly any is left, it waits until one has come back.
 * @throws the signal's reason when it aborts
 */
export async function pace(limits: CallLimits, signal: AbortSignal): Promise<void> {
  for (let waitMs = limits.spendMore(); waitMs > 0; waitMs = limits.spendMore()) await sleep(waitMs, signal);
}
