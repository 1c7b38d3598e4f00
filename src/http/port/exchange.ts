import type { IncomingMessage, ServerResponse } from "node:http";

/** The memory of a request and its reply besides their bodies, in bytes. */
const OBJECT_BYTES = 16 * 1024;

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
  #objectBytes = 0;
  #bodyBytes = 0;
  #unsentBytes = 0;
  #isOpen = true;

  constructor(connection: ExchangeOwner, request: IncomingMessage, response: ServerResponse) {
    this.#connection = connection;
    this.request = request;
    this.response = response;
  }

  /** Counts the objects of the request and its reply, of which a connection may have many. */
  keepObjects(): void {
    this.#change(OBJECT_BYTES - this.#objectBytes);
    this.#objectBytes = OBJECT_BYTES;
  }

  /** Notes how many bytes of the body of the request are kept now. */
  keepBody(bytes: number): void {
    this.#change(bytes - this.#bodyBytes);
    this.#bodyBytes = bytes;
  }

  /** Notes how many bytes of the reply have not been sent. */
  keepUnsent(bytes: number): void {
    this.#change(bytes - this.#unsentBytes);
    this.#unsentBytes = bytes;
  }

  /** Notes that the reply goes on for as long as its client likes. Others count and bound such streams. */
  becomeStream(): void {
    this.#change(-this.#objectBytes);
    this.#objectBytes = 0;
  }

  /** To be called when the reply is closed. */
  close(): void {
    const held = this.#objectBytes + this.#bodyBytes + this.#unsentBytes;
    if (held > 0) this.#change(-held);
    this.#isOpen = false;
  }

  #change(bytes: number): void {
    if (!this.#isOpen || bytes === 0) return;
    this.#connection.hold(bytes);
    if (bytes > 0) this.#connection.checkHeld(this);
  }
}
