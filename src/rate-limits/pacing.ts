import { TurnScheduler } from "../timing/turn-scheduler.ts";
import { sleep } from "../timing/wait.ts";
import type { RequestLimits } from "./request-limits.ts";

/** How many items are made in one turn of the event loop, over all streams. Hundreds may follow the same chain. */
const itemsPerTurn = 16;

/** The turns of all streams of a service. */
export class ItemTurns {
  readonly #turns = new TurnScheduler(itemsPerTurn);

  /** Resolves when a stream may make its next item. */
  next(): Promise<void> {
    return new Promise((resolve) => this.#turns.run(resolve));
  }
}

/**
 * Spends one more call of a stream. If hardly any are left, it waits until one is available again.
 * @throws the signal's reason when it aborts
 */
export async function pace(limits: RequestLimits, signal: AbortSignal): Promise<void> {
  for (let waitMs = limits.spendMore(); waitMs > 0; waitMs = limits.spendMore()) await sleep(waitMs, signal);
}
