import type { IncomingMessage, ServerResponse } from "node:http";

/** The memory of a request and its reply besides their bodies, in bytes. A connection may have many. */
export const OBJECT_BYTES = 16 * 1024;

/** The connection of a request. */
export interface ExchangeOwner {
  /** Counts memory that the connection makes the service hold; negative for what it no longer holds. */
  hold(bytes: number): void;
  /** To be called after an exchange has made the connection hold more. It may end the exchange. */
  checkHeld(exchange: Exchange): void;
}

/** A request and its reply, from the arrival of the head until the reply is closed. */
export class Exchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly #connection: ExchangeOwner;
  /** By `performance.now()`. */
  readonly arrivedAt = performance.now();
  /** Whether the sending of its reply is timed. */
  isTimed = false;
  /** What it makes the service hold, in bytes: objects, what is kept of the body, and what is unsent of the reply. */
  readonly #held = { objects: 0, body: 0, unsent: 0 };
  #isOpen = true;

  constructor(connection: ExchangeOwner, request: IncomingMessage, response: ServerResponse) {
    this.#connection = connection;
    this.request = request;
    this.response = response;
  }

  /** Notes how much it holds of one kind now. */
  keep(kind: "objects" | "body" | "unsent", bytes: number): void {
    const change = bytes - this.#held[kind];
    if (!this.#isOpen || change === 0) return;
    this.#held[kind] = bytes;
    this.#connection.hold(change);
    if (change > 0) this.#connection.checkHeld(this);
  }

  /** To be called when the reply is closed. */
  close(): void {
    const { objects, body, unsent } = this.#held;
    if (objects + body + unsent > 0) this.#connection.hold(-(objects + body + unsent));
    this.#isOpen = false;
  }
}
