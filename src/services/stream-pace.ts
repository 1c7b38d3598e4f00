import type { HandlerContext } from "@connectrpc/connect";
import { callOf } from "../calls/call.ts";
import { createItemTurns, pace } from "../rate-limits/pacing.ts";

/** After so many items, a stream spends a further call of its caller's limit. */
const itemsPerCall = 100;
/** A stream whose last item is more recent than this, in milliseconds, is in the middle of a portion and needs no turn. */
const portionMs = 10;

/** The pace of all streams of a service, which take turns. */
export class StreamPace {
  readonly #turns = createItemTurns();

  /**
   * Gives the function that a stream calls before each item. It waits for its turn if the stream has rested, because all
   * followers wake at the same time, and while hardly any calls of the caller are left.
   * @throws the signal's reason, from that function
   */
  of({ signal, values }: Pick<HandlerContext, "signal" | "values">): () => Promise<void> {
    const { limits } = callOf(values).origin;
    let sent = 0;
    let lastAt = Number.NEGATIVE_INFINITY;
    return async () => {
      if (sent === itemsPerCall) {
        await pace(limits, signal);
        sent = 0;
      }
      sent += 1;
      if (performance.now() - lastAt > portionMs) await this.#turns.turn();
      lastAt = performance.now();
    };
  }
}
