import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { TurnScheduler } from "../../timing/turn-scheduler.ts";
import type { Exchange, ExchangeOwner } from "./exchange.ts";
import type { Holder, MemoryBudget } from "./memory-budget.ts";
import type { Refuse } from "./refusals.ts";

/** Serves the requests of a port. Over HTTP/2 it gets Node's messages of that version, which have the same members. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** What serves the requests of a port. */
export interface PortHandlers {
  handle: Handler;
  /** Makes the replies to connections that are refused before they have a request. */
  refuse: Refuse;
}

/** Time limits, in milliseconds. See `PortOptions`. */
export interface ConnectionTimes {
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  idleTimeoutMs: number;
  sendTimeoutMs: number;
}

/** What the connections of a port share. */
export interface SharedByConnections {
  times: ConnectionTimes;
  /** What one connection may hold, in bytes. */
  maxHeld: number;
  budget: MemoryBudget;
  /** Says how much is done in one turn of the event loop, over all connections. Addresses take turns, and their connections. */
  turns: TurnScheduler;
  /** What serves the requests. It may be replaced while the port listens. */
  handlers: PortHandlers;
}

/** How long a peer may take to close its side after we have closed ours, in milliseconds. */
export const LINGER_MS = 1000;

/** A connection whose protocol is known. */
export abstract class Connection implements Holder, ExchangeOwner {
  /** The TCP socket: the one under TLS, or that which carries HTTP itself. */
  readonly transport: Socket;
  protected readonly shared: SharedByConnections;
  held = 0;
  heldSince = 0;
  /** When no request was left, or the connection began, by `performance.now()`. */
  protected quietSince = performance.now();
  #isClosed = false;

  constructor(transport: Socket, shared: SharedByConnections) {
    this.transport = transport;
    this.shared = shared;
    transport.once("close", () => this.#release());
  }

  /** Whether it has no request. */
  abstract get isIdle(): boolean;

  /** Ends what has made no progress in time. Called about once a second. @param now by `performance.now()` */
  abstract check(now: number): void;

  /** Closes the connection gracefully: now if it has no request, otherwise after the last one. */
  abstract drain(): void;

  hold(bytes: number): void {
    if (!this.#isClosed) this.shared.budget.add(this, bytes);
  }

  /** Ends the connection at once. The system drops its unsent bytes, too. */
  cut(): void {
    this.#release();
    // libuv does not reset a socket that is being shut down.
    if (this.transport.writableEnded) this.transport.destroy();
    else this.transport.resetAndDestroy();
  }

  #release(): void {
    this.shared.budget.remove(this);
    this.#isClosed = true;
  }

  /** Ends an exchange whose connection holds too much. */
  protected abstract refuseToHold(exchange: Exchange): void;

  checkHeld(exchange: Exchange): void {
    if (this.held > this.shared.maxHeld) this.refuseToHold(exchange);
  }
}
