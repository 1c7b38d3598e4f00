import type { IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { TurnScheduler } from "../../timing/turn-scheduler.ts";
import type { BodyBudget, ConnectionBodies } from "./body-budget.ts";
import { Http1Sender } from "./http1-sender.ts";
import type { BudgetedConnection } from "./idle-budget.ts";
import { PausableParser } from "./pausable-parser.ts";
import type { Handler } from "./request-handlers.ts";
import type { SendWatch } from "./send-watch.ts";
import { cutSocket, transportOf } from "./transport.ts";

/** How many requests begin in one turn of the event loop, over all connections. */
const MAX_REQUESTS_A_TURN = 32;
/** The memory of an idle connection, in bytes. */
const IDLE_BYTES = 6 * 1024;
/** How many bytes of memory a byte of a head takes: short fields become strings and places in lists. */
const BYTES_PER_HEAD_BYTE = 8;
/** How many slices of chunked bodies are parsed in one turn of the event loop, over all connections. */
const MAX_SLICES_A_TURN = 8;

interface Exchange {
  request: IncomingMessage;
  response: ServerResponse;
  handler: Handler;
}

interface ConnectionOptions {
  requestTimeoutMs: number;
  bodies: BodyBudget;
  requestTurns: TurnScheduler;
  chunkScheduler: TurnScheduler;
}

/** An HTTP/1.1 connection. It handles one request at a time, however many requests a client pipelines. */
class Http1Connection implements BudgetedConnection {
  readonly #socket: Socket;
  readonly #parser: PausableParser;
  /** The request that is being handled, or whose response is being sent. */
  #running: Exchange | undefined;
  /** The next request. Its body and the requests after it have not been parsed. */
  #next: Exchange | undefined;
  /** `bytesRead` when the connection last became idle. If more bytes have arrived, a request has begun. */
  #idleAt: number;
  readonly #requestTimeoutMs: number;
  readonly #bodies: BodyBudget;
  readonly #requestTurns: TurnScheduler;
  #ownBodies: ConnectionBodies | undefined;
  /** Whether Node has stopped timing the next request. Node reported it as late, but only because it was not read. */
  #nextIsUntimed = false;
  /** Refuses the malformed bytes after the running request. */
  #refuseRest: (() => void) | undefined;
  #draining = false;

  constructor(
    socket: Socket,
    listener: (socket: Socket) => void,
    { requestTimeoutMs, bodies, requestTurns, chunkScheduler }: ConnectionOptions,
  ) {
    this.#socket = socket;
    this.#requestTimeoutMs = requestTimeoutMs;
    this.#bodies = bodies;
    this.#requestTurns = requestTurns;
    // The bytes that sniffing put back belong to a request.
    this.#idleAt = socket.bytesRead - socket.readableLength;
    listener(socket);
    this.#parser = new PausableParser(socket, chunkScheduler, () => this.#next !== undefined);
  }

  /** Handles a request from Node's parser: now, or after the response before it has been sent. */
  take(exchange: Exchange): void {
    if (this.#running === undefined) this.#start(exchange);
    else this.#next = exchange;
    if (this.#draining) this.#closeWithLast();
  }

  /**
   * Handles a parser error that must not end the connection now: a pause that `PausableParser` asked for, a timeout that the pause
   * caused, or malformed bytes after the running request. The running request is answered before those are refused.
   * @param refuse answers the malformed bytes
   * @returns whether the error was handled
   */
  takeError(error: Error & { code?: string }, refuse: () => void): boolean {
    if (this.#parser.takePause(error)) {
      if (this.#next === undefined) this.#parser.resume();
      return true;
    }
    if (error.code === "ERR_HTTP_REQUEST_TIMEOUT" && this.#next !== undefined) {
      this.#nextIsUntimed = true;
      return true;
    }
    const isBehind = error.code?.startsWith("HPE_") === true && this.#running?.request.complete === true;
    // Bytes after a request with `Connection: close` are not a request.
    if (!isBehind || (this.hasBegunReply() && error.code !== "HPE_CLOSED_CONNECTION")) return false;
    this.#parser.pause();
    this.#refuseRest = refuse;
    return true;
  }

  get isIdle(): boolean {
    return this.#running === undefined;
  }

  idleBytes(): number {
    if (this.#running !== undefined || this.#socket.destroyed) return 0;
    return IDLE_BYTES + (this.#socket.bytesRead - this.#idleAt) * BYTES_PER_HEAD_BYTE;
  }

  endIdle(): void {
    cutSocket(transportOf(this.#socket));
  }

  hasBegunReply(): boolean {
    return this.#running?.response.headersSent === true;
  }

  /** Closes the connection: now if it is idle, otherwise with the response to the last request that has arrived. */
  drain(): void {
    this.#draining = true;
    if (this.#running !== undefined) this.#closeWithLast();
    else if (this.#socket.bytesRead === this.#idleAt) this.#socket.destroySoon();
  }

  #start(exchange: Exchange): void {
    const { request, response, handler } = exchange;
    this.#running = exchange;
    const { headers } = request;
    // The parser has not reached the body.
    if (headers["content-length"] !== undefined || headers["transfer-encoding"] !== undefined) {
      const body = this.#followBody(request);
      response.once("close", () => body.release());
    }
    response.once("close", () => this.#finish());
    this.#requestTurns.run(() => {
      if (!this.#socket.destroyed) handler(request, response);
    });
  }

  #followBody(request: IncomingMessage): { release(): void } {
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
      // If the head of the reply was sent before the drain, it announced keep-alive. So the connection is closed here.
      if (this.#draining) this.#socket.destroySoon();
    } else if (!this.#socket.destroyed && !this.#socket.writableEnded) {
      this.#start(next);
      if (this.#nextIsUntimed) this.#time(next);
      this.#parser.resume();
    }
  }

  #time({ request, response }: Exchange): void {
    this.#nextIsUntimed = false;
    const timer = setTimeout(() => {
      if (!request.complete) this.#socket.destroy();
    }, this.#requestTimeoutMs);
    response.once("close", () => clearTimeout(timer));
  }

  /** Only the last reply may announce the close, because Node drops every reply after that one. */
  #closeWithLast(): void {
    if (this.#running !== undefined) this.#running.response.shouldKeepAlive = this.#next !== undefined;
    if (this.#next !== undefined) this.#next.response.shouldKeepAlive = false;
  }
}

/**
 * The HTTP/1.1 connections of a port. Node's `closeIdleConnections()` does not end them gracefully: it also destroys
 * connections whose last reply has been ended but not flushed.
 */
export class Http1Connections {
  readonly #connections = new Map<Socket, Http1Connection>();
  /** The same connections by their TCP sockets, which are other sockets with TLS. */
  readonly #byTransport = new Map<Socket, Http1Connection>();
  readonly #sendWatch: SendWatch;
  readonly #options: ConnectionOptions;
  #draining = false;

  constructor(sendWatch: SendWatch, bodies: BodyBudget, { requestTimeoutMs }: { requestTimeoutMs: number }) {
    this.#sendWatch = sendWatch;
    this.#options = {
      requestTimeoutMs,
      bodies,
      requestTurns: new TurnScheduler(MAX_REQUESTS_A_TURN),
      chunkScheduler: new TurnScheduler(MAX_SLICES_A_TURN),
    };
  }

  /** Serves a new connection with Node's own listener. */
  serve(socket: Socket, listener: (socket: Socket) => void): void {
    if (socket.destroyed) return;
    const connection = new Http1Connection(socket, listener, this.#options);
    if (this.#draining) connection.drain();
    this.#connections.set(socket, connection);
    const transport = transportOf(socket);
    this.#byTransport.set(transport, connection);
    new Http1Sender(socket, transport, this.#sendWatch);
    socket.once("close", () => {
      this.#connections.delete(socket);
      this.#byTransport.delete(transport);
    });
  }

  /** Handles a request when its connection has answered the requests before it. */
  take(request: IncomingMessage, response: ServerResponse, handler: Handler): void {
    const connection = this.#connections.get(request.socket);
    if (connection !== undefined) connection.take({ request, response, handler });
  }

  /** Handles an error that must not end the connection now; see `Http1Connection`. @returns whether it was handled */
  takeError(error: Error, socket: Socket, refuse: () => void): boolean {
    return this.#connections.get(socket)?.takeError(error, refuse) === true;
  }

  /** Whether the head of a reply has been sent. A raw reply would corrupt that reply. */
  hasBegunReply(socket: Socket): boolean {
    return this.#connections.get(socket)?.hasBegunReply() === true;
  }

  /** Whether the connection of a TCP socket has no running request; undefined for an unknown connection. */
  isIdle(transport: Socket): boolean | undefined {
    return this.#byTransport.get(transport)?.isIdle;
  }

  /** All connections, the oldest first. */
  all(): Iterable<BudgetedConnection> {
    return this.#connections.values();
  }

  /** Closes idle connections now, and the others after their last reply. */
  drain(): void {
    this.#draining = true;
    for (const connection of this.#connections.values()) connection.drain();
  }
}
