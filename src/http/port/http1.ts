import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { BodyBudget, ConnectionBodies } from "./body-budget.ts";
import { ChunkTurns } from "./chunk-turns.ts";
import { Http1Sender } from "./http1-sender.ts";
import { ParserGate } from "./parser-gate.ts";
import type { SendWatch } from "./send-watch.ts";
import { cutSocket, transportOf } from "./transport.ts";

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  handler: Handler;
}

interface ConnectionOptions {
  requestTimeoutMs: number;
  bodies: BodyBudget;
  chunkTurns: ChunkTurns;
}

/** An HTTP/1.1 connection. Its requests are worked on one at a time, however many of them a client pipelines. */
class Http1Connection {
  readonly #socket: Socket;
  readonly #gate: ParserGate;
  /** The request that is worked on, or whose response is being sent. */
  #running: Exchange | undefined;
  /** The request behind it. Its body, and the requests after it, have not been parsed. */
  #next: Exchange | undefined;
  /** Bytes that had arrived when the connection last became idle: more than that means that a request has begun to arrive. */
  #idleAt: number;
  readonly #requestTimeoutMs: number;
  readonly #bodies: BodyBudget;
  #ownBodies: ConnectionBodies | undefined;
  /** Node has stopped timing the request that waits, since it did not arrive in time; it was not read. */
  #nextIsUntimed = false;
  /** Refuses what has arrived behind the request that is worked on. */
  #refuseRest: (() => void) | undefined;
  #draining = false;

  constructor(
    socket: Socket,
    listener: (socket: Socket) => void,
    { requestTimeoutMs, bodies, chunkTurns }: ConnectionOptions,
  ) {
    this.#socket = socket;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#bodies = bodies;
    // What sniffing left in the buffer belongs to a request already.
    this.#idleAt = socket.bytesRead - socket.readableLength;
    listener(socket);
    this.#gate = new ParserGate(socket, chunkTurns, () => this.#next !== undefined);
  }

  /** Starts to work on a request that Node's parser hands over, now or when the response before it has been sent. */
  take(exchange: Exchange): void {
    if (this.#running === undefined) this.#start(exchange);
    else this.#next = exchange;
    if (this.#draining) this.#closeWithLast();
  }

  /**
   * Takes an error of the parser that is no reason to end the connection now: the pause that was asked for, one that is due
   * to it, or a fault behind the request that is worked on, which is answered first.
   * @param refuse answers the fault
   * @returns whether it was taken
   */
  takeError(error: Error & { code?: string }, refuse: () => void): boolean {
    if (this.#gate.hold(error)) {
      if (this.#next === undefined) this.#gate.open();
      return true;
    }
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && this.#next !== undefined) {
      this.#nextIsUntimed = true;
      return true;
    }
    const isBehind = error.code?.startsWith("HPE_") === true && this.#running?.request.complete === true;
    // What follows a request that says Connection: close is no request.
    if (!isBehind || (this.hasBegunReply() && error.code !== "HPE_CLOSED_CONNECTION")) return false;
    this.#gate.close();
    this.#refuseRest = refuse;
    return true;
  }

  get isIdle(): boolean {
    return this.#running === undefined;
  }

  hasBegunReply(): boolean {
    return this.#running?.response.headersSent === true;
  }

  /** Closes the connection: at once if it is idle, else with the response to the last request that has arrived. */
  drain(): void {
    this.#draining = true;
    if (this.#running !== undefined) this.#closeWithLast();
    else if (this.#socket.bytesRead === this.#idleAt) this.#socket.destroySoon();
  }

  #start(exchange: Exchange): void {
    const { request, response, handler } = exchange;
    this.#running = exchange;
    const { headers } = request;
    // The parser has not come to the body.
    if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined) {
      response.once("close", this.#followBody(request));
    }
    response.once("close", () => this.#finish());
    handler(request, response);
  }

  #followBody(request: IncomingMessage): () => void {
    const transport = transportOf(this.#socket);
    this.#ownBodies ??= this.#bodies.connection(transport);
    return this.#ownBodies.follow(request, request.headers["content-encoding"], () => cutSocket(transport));
  }

  #finish(): void {
    this.#running = undefined;
    this.#idleAt = this.#socket.bytesRead;
    const next = this.#next;
    this.#next = undefined;
    if (this.#refuseRest !== undefined) this.#refuseRest();
    else if (next === undefined) {
      // A reply whose head went out before the drain promised to keep the connection.
      if (this.#draining) this.#socket.destroySoon();
    } else if (!this.#socket.destroyed && !this.#socket.writableEnded) {
      this.#start(next);
      if (this.#nextIsUntimed) this.#time(next);
      this.#gate.open();
    }
  }

  #time({ request, response }: Exchange): void {
    this.#nextIsUntimed = false;
    const timer = setTimeout(() => {
      if (!request.complete) this.#socket.destroy();
    }, this.#requestTimeoutMs);
    response.once("close", () => clearTimeout(timer));
  }

  /** Only the last reply may announce the close: Node drops whatever stands behind the one that does. */
  #closeWithLast(): void {
    if (this.#running !== undefined) this.#running.response.shouldKeepAlive = this.#next !== undefined;
    if (this.#next !== undefined) this.#next.response.shouldKeepAlive = false;
  }
}

/**
 * The HTTP/1.1 connections of a port. Node's `closeIdleConnections()` would not do for a graceful end: it also destroys
 * connections whose last reply has been ended but not yet flushed.
 */
export class Http1Connections {
  readonly #connections = new Map<Socket, Http1Connection>();
  readonly #sendWatch: SendWatch;
  readonly #options: ConnectionOptions;
  #draining = false;

  constructor(sendWatch: SendWatch, bodies: BodyBudget, { requestTimeoutMs }: { requestTimeoutMs: number }) {
    this.#sendWatch = sendWatch;
    this.#options = { requestTimeoutMs, bodies, chunkTurns: new ChunkTurns() };
  }

  /** Serves a new connection by Node's own listener. */
  serve(socket: Socket, listener: (socket: Socket) => void): void {
    if (socket.destroyed) return;
    const connection = new Http1Connection(socket, listener, this.#options);
    if (this.#draining) connection.drain();
    this.#connections.set(socket, connection);
    new Http1Sender(socket, transportOf(socket), this.#sendWatch);
    socket.once("close", () => this.#connections.delete(socket));
  }

  /** Has a request worked on when it is its turn on its connection. */
  take(request: IncomingMessage, response: ServerResponse, handler: Handler): void {
    const connection = this.#connections.get(request.socket);
    if (connection !== undefined) connection.take({ request, response, handler });
  }

  /** Takes an error that Node reports for a connection, unless it is a reason to end it now; see `Http1Connection`. */
  takeError(error: Error, socket: Socket, refuse: () => void): boolean {
    return this.#connections.get(socket)?.takeError(error, refuse) === true;
  }

  /** Whether bytes of a reply are on the wire that a raw reply would corrupt. */
  hasBegunReply(socket: Socket): boolean {
    return this.#connections.get(socket)?.hasBegunReply() === true;
  }

  /** Whether no request of a connection is being worked on; undefined if it is none of these. */
  isIdle(socket: Socket): boolean | undefined {
    return this.#connections.get(socket)?.isIdle;
  }

  /** Closes idle connections, and sees to it that the others end with their next reply. */
  drain(): void {
    this.#draining = true;
    for (const connection of this.#connections.values()) connection.drain();
  }
}
