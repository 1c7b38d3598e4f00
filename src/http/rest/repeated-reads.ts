import type { Message } from "@bufbuild/protobuf";
import { type Binding, isTaggedRead } from "../../contract/bindings.ts";
import { RecentMap } from "../../rate-limits/recent-map.ts";

/** How many addresses of a route are remembered. */
const capacity = 64;
/** Longer addresses are not remembered, in characters. */
const maxLength = 512;

/**
 * The addresses of public reads that a route was last asked for. Many callers ask for the same, and what an address says does
 * not change. So it is read and checked once. The messages are frozen, because all calls of an address get the same one.
 */
export class RepeatedReads<Address extends { binding: Binding; read?: { message: Message } }> {
  readonly #addresses = new RecentMap<string, Address>(capacity);

  get(url: string): Address | undefined {
    return this.#addresses.get(url);
  }

  /** Remembers what an address says. Its message was made from the address alone, and a call with it has been served. */
  remember(url: string, address: Address): void {
    if (url.length > maxLength || !isTaggedRead(address.binding)) return;
    Object.freeze(address.read?.message);
    this.#addresses.set(url, address);
  }
}
