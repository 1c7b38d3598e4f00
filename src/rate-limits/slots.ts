import { Counts } from "./counts.ts";
import type { StreamLimits } from "./stream-limits.ts";

/** The limit that has no room for another stream. */
export type FullLimit = "perAgent" | "perAddress" | "total";

/** Counts the open streams of this process against the limits of an agent, of an address and of all. Each is at least 1. */
export class StreamSlots {
  readonly #limits: StreamLimits;
  readonly #byAddress = new Counts<string>();
  readonly #byAgent = new Counts<number>();
  #total = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /**
   * Takes a slot for a stream, unless a limit has no room for it.
   * @param agent the agent that the stream counts for; undefined if it counts for none
   * @param address the same for an address
   * @returns the limit that has no room; undefined if the slot is taken, and `release` must follow
   */
  take(agent: number | undefined, address: string | undefined): FullLimit | undefined {
    const { total, perAddress, perAgent } = this.#limits;
    if (this.#byAgent.of(agent) >= perAgent) return "perAgent";
    if (this.#byAddress.of(address) >= perAddress) return "perAddress";
    if (this.#total >= total) return "total";
    this.#total += 1;
    this.#byAgent.add(agent);
    this.#byAddress.add(address);
    return undefined;
  }

  /** Gives back a slot that was taken for these. */
  release(agent: number | undefined, address: string | undefined): void {
    this.#total -= 1;
    this.#byAgent.remove(agent);
    this.#byAddress.remove(address);
  }
}
