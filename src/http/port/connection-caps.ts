import type { Socket } from "node:net";

/** The maximum numbers of connections. */
export interface ConnectionLimits {
  maxConnections: number;
  /** Per address, in the form of `countAs`. */
  maxConnectionsPerAddress: number;
  /** The form in which an address is counted. All addresses of one client have the same form. */
  countAs(address: string): string;
  /** Whether an address is that of a proxy. A proxy connects for many clients, so it has no cap per address. */
  isProxy(address: string): boolean;
}

/** How many idle connections are compared to find the one to close. */
const MAX_CANDIDATES = 64;
/** The pause after a search that found no idle connection, in milliseconds. Such a search visits every connection. */
const SEARCH_PAUSE_MS = 100;

/**
 * The open connections of a port. When the port is full, a new connection replaces an idle one. So a client that opens
 * connections and leaves them idle locks nobody out.
 */
export class ConnectionCaps {
  readonly #limits: ConnectionLimits | undefined;
  readonly #isIdle: (socket: Socket) => boolean;
  /** The counted address of each connection, in the order in which the connections were opened. */
  readonly #addresses = new Map<Socket, string>();
  readonly #counts = new Map<string, number>();
  #searchAt = 0;

  /** @param isIdle whether a connection has no running request */
  constructor(limits: ConnectionLimits | undefined, isIdle: (socket: Socket) => boolean) {
    this.#limits = limits;
    this.#isIdle = isIdle;
  }

  /** Counts a new connection until it closes. @returns false, without counting it, if there is no room for it */
  admit(socket: Socket): boolean {
    if (this.#limits === undefined) return true;
    const { maxConnections, maxConnectionsPerAddress, countAs, isProxy } = this.#limits;
    const { remoteAddress = "" } = socket;
    const address = countAs(remoteAddress);
    const count = () => this.#counts.get(address) ?? 0;
    if (count() >= maxConnectionsPerAddress && !isProxy(remoteAddress)) return false;
    // It may close one of this address.
    if (this.#addresses.size >= maxConnections && !this.#closeIdle()) return false;
    this.#counts.set(address, count() + 1);
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

  /** Closes one of the oldest idle connections, from the address with the most connections. @returns whether there is one */
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
