import { TurnScheduler } from "../timing/turn-scheduler.ts";
import { sleep } from "../timing/wait.ts";
import type { RequestLimits } from "./request-limits.ts";

/** How many items are made in one turn of the event loop, over all streams. Hundreds may follow the same chain. */
const itemsPerTurn = 16;

/** The turns of all streams of a service: one for each item. */
export function createItemTurns(): Pick<TurnScheduler, "turn"> {
  return new TurnScheduler(itemsPerTurn);
}

/**
 * Spends one more call of a stream. If hardly any are left, it waits until one is available again.
 * @throws the signal's reason when it aborts
 */
export async function pace(limits: RequestLimits, signal: AbortSignal): Promise<void> {
  for (let waitMs = limits.spendMore(); waitMs > 0; waitMs = limits.spendMore()) await sleep(waitMs, signal);
}
