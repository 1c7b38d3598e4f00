import type { HandlerContext } from "@connectrpc/connect";
import { callOf } from "../calls/call.ts";
import { StoaError } from "../errors.ts";
import type { Waiter } from "../log/publisher/published-tree.ts";
import { Slots } from "../rate-limits/slots.ts";

/** How many requests may wait for the log at a time. */
const limits = { total: 1_024, perAddress: 128, perAgent: 128 };

/** Those who wait for entries that are not published yet. Nobody takes all places. */
export class LogWaits {
  readonly #slots = new Slots(limits);

  /** The caller of a call as one who waits. */
  waiterOf({ signal, values }: HandlerContext): Waiter {
    const { agent, origin } = callOf(values);
    const address = agent === undefined ? origin.client.counted : undefined;
    const takePlace = () => {
      const full = this.#slots.take(agent, address);
      if (full !== undefined) throw refusalOf(full);
      return () => this.#slots.release(agent, address);
    };
    return { signal, takePlace };
  }
}

function refusalOf(full: keyof typeof limits): StoaError {
  const again = { retryAfterSeconds: 1 };
  if (full === "total") return new StoaError("unavailable", "Too many requests wait for the log.", again);
  const whose = full === "perAgent" ? "of this agent" : "from this address";
  return new StoaError("rate_limited", `${limits[full]} requests ${whose} wait for the log, the maximum.`, again);
}
