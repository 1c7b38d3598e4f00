import type { HandlerContext } from "@connectrpc/connect";
import { requestOf } from "../calls/context.ts";
import { pace, turnOfItem } from "../rate-limits/pacing.ts";

/** A stream spends a further call of its caller's limit for each so many items. */
const itemsPerCall = 100;

/**
 * Gives the function that a stream calls before each item. It waits for its turn, and while hardly any calls of the caller
 * are left.
 * @throws the signal's reason, from that function
 */
export function createPace({ signal, values }: Pick<HandlerContext, "signal" | "values">): () => Promise<void> {
  const { limits } = requestOf(values);
  let sent = 0;
  return async () => {
    if (sent === itemsPerCall) {
      await pace(limits, signal);
      sent = 0;
    }
    sent += 1;
    await turnOfItem();
  };
}
