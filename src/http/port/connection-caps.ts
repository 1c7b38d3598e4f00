import type { Socket } from "node:net";
import { countedAddress } from "../admission/client-address.ts";

/** How many connections there may be. */
export interface ConnectionLimits {
  maxConnections: number;
  /** Of one address, or of one /64 network with IPv6. */
  maxConnectionsPerAddress: number;
  /** Whether an address is a proxy's, which connects for many clients: such an address has no cap of its own. */
  isProxy(address: string): boolean;
}

/** How many idle connections are looked at to find the one to close. */
const MAX_CANDIDATES = 64;
/** After a search that found no idle connection, none is begun for so long, in milliseconds: it looks at all of them. */
const SEARCH_PAUSE_MS = 100;

/**
 * The open connections of a port. When there is no room for another, one that is idle makes room for it, so that somebody
 * who opens connections and does nothing with them locks nobody out.
 */
export class ConnectionCaps {
  readonly #limits: ConnectionLimits | undefined;
  readonly #isIdle: (socket: Socket) => boolean;
  /** In the order in which they were opened, with the address as it is counted. */
  readonly #addresses = new Map<Socket, string>();
  readonly #counts = new Map<string, number>();
  #searchAt = 0;

  /** @param isIdle whether no request of a connection is being worked on */
  constructor(limits: ConnectionLimits | undefined, isIdle: (socket: Socket) => boolean) {
    this.#limits = limits;
    this.#isIdle = isIdle;
  }

  /** Counts a new connection until it closes. @returns false if there is no room for it: it is not counted then */
  admit(socket: Socket): boolean {
    if (this.#limits === undefined) return true;
    const { maxConnections, maxConnectionsPerAddress, isProxy } = this.#limits;
    const { remoteAddress = "" } = socket;
    const address = countedAddress(remoteAddress);
    const count = this.#counts.get(address) ?? 0;
    if (count >= maxConnectionsPerAddress && !isProxy(remoteAddress)) return false;
    if (this.#addresses.size >= maxConnections && !this.#closeIdle()) return false;
    this.#counts.set(address, count + 1);
    this.#addresses.set(socket, address);
    socket.once("close", () => this.#remove(socket));
    return true;
  }

  #remove(socket: Socket): void {
    const address = this.#addresses.get(socket);
    if (address === undefined) return;
    this.#addresses.delete(socket);
    const count = (this.#counts.get(address) ?? 0) - 1;
    if (count > 0) this.#counts.set(address, count);
    else this.#counts.delete(address);
  }

  /** Closes one of the oldest idle connections, of the address that has most. */
  #closeIdle(): boolean {
    const now = performance.now();
    if (now < this.#searchAt) return false;
    let chosen: Socket | undefined;
    let chosenCount = 0;
    let candidates = 0;
    for (const [socket, address] of this.#addresses) {
      if (!this.#isIdle(socket)) continue;
      const count = this.#counts.get(address) ?? 0;
      if (count > chosenCount) {
        chosen = socket;
        chosenCount = count;
      }
      candidates += 1;
      if (candidates === MAX_CANDIDATES) break;
    }
    if (chosen === undefined) {
      this.#searchAt = now + SEARCH_PAUSE_MS;
      return false;
    }
    this.#remove(chosen);
    chosen.destroy();
    return true;
  }
}
