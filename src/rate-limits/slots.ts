import { Counts } from "./counts.ts";

/** How much may go on at a time. Each limit is at least 1. */
export interface SlotLimits {
  total: number;
  /** For callers without a good key, from one client address. */
  perAddress: number;
  perAgent: number;
}

/** A caller gets another slot only while a part of the free ones, one in this many, is more than it has. */
const freeParts = 4;

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
   * Takes a slot, unless a limit has no room for it. Where few are left, those who have many get no more: so a few callers do not
   * take all.
   * @param agent the agent that the slot counts for; undefined if it counts for none
   * @param address the same for an address
   * @returns the limit that has no room; undefined if the slot is taken, and `release` must follow
   */
  take(agent: number | undefined, address: string | undefined): FullLimit | undefined {
    const { total, perAddress, perAgent } = this.#limits;
    const ofAgent = this.#byAgent.of(agent);
    const ofAddress = this.#byAddress.of(address);
    if (ofAgent >= perAgent) return "perAgent";
    if (ofAddress >= perAddress) return "perAddress";
    if (Math.max(ofAgent, ofAddress) * freeParts >= total - this.#total) return "total";
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
