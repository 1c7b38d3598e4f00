import { Counts } from "./counts.ts";

/** How much may go on at a time. Each limit is at least 1. */
export interface SlotLimits {
  total: number;
  /** For callers without a good key, from one client address. */
  perAddress: number;
  perAgent: number;
}

/** The limit that has no room for another slot. */
export type FullLimit = keyof SlotLimits;

/** Counts what goes on in this process, such as open streams, against the limits of an agent, of an address and of all. */
export class Slots {
  readonly #limits: SlotLimits;
  readonly #byAddress = new Counts<string>();
  readonly #byAgent = new Counts<number>();
  #total = 0;

  constructor(limits: SlotLimits) {
    this.#limits = limits;
  }

  /**
   * Takes a slot, unless a limit has no room for it.
   * @param agent the agent that the slot counts for; undefined if it counts for none
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
