import { type IncomingMessage, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { Connection, LINGER_MS, type SharedByConnections } from "./connection.ts";
import { Exchange, OBJECT_BYTES } from "./exchange.ts";
import { Http1Socket, type SliceReader } from "./http1-socket.ts";
import { isRequestFault, lateRequest, noTunnel, type ParserError, refuse } from "./refusals.ts";

/** The response to an HTTP/1.1 request. */
export class Http1Response extends ServerResponse {
  exchange: Exchange | undefined = undefined;
}

/** The connection of a request or of an error that Node's HTTP server reports. */
export function connectionOf(socket: Duplex): Http1Connection | undefined {
  return socket instanceof Http1Socket && socket.reader instanceof Http1Connection ? socket.reader : undefined;
}

/** An HTTP/1.1 connection. It handles one request at a time, and reads no further while one runs. */
export class Http1Connection extends Connection implements SliceReader {
  /** What Node's HTTP server reads and writes. */
  readonly socket: Http1Socket<Http1Connection>;
  /** The request that is being handled, or whose reply is being sent. */
  #running: Exchange | undefined;
  /** The requests after it whose heads stood in the same slice. */
  readonly #waiting: Exchange[] = [];
  /** The previous request. Its body may still arrive, and is dropped. */
  #before: Exchange | undefined;
  /** When a head began to arrive; undefined while none does. */
  #headSince: number | undefined;
  /** Refuses the malformed bytes after the requests that have arrived. */
  #refuseRest: (() => void) | undefined;
  #isDraining = false;
  /** How many bytes have arrived that may not be parsed yet. */
  unparsedBytes = 0;
  /** When we closed our side. */
  #endedAt: number | undefined;

  /** @param socket what carries HTTP: the TCP socket, or TLS over it */
  constructor(socket: Socket, transport: Socket, shared: SharedByConnections) {
    super(transport, shared);
    this.socket = new Http1Socket(socket, shared.turns, this);
    // A reset is never a server error. Node's own listener goes when it hands a connection over, as for CONNECT.
    this.socket.on("error", () => {});
    // The bytes that were read to recognize the protocol are the beginning of a head.
    if (socket.readableLength > 0) this.#headSince = performance.now();
  }

  get isIdle(): boolean {
    return this.#running === undefined && this.#waiting.length === 0;
  }

  /** Handles a request from Node's parser: now, or after the replies to those before it. */
  take(request: IncomingMessage, response: Http1Response): void {
    const exchange = new Exchange(this, request, response);
    response.exchange = exchange;
    if (this.#running === undefined) this.#start(exchange);
    else {
      exchange.keep("objects", OBJECT_BYTES);
      this.#waiting.push(exchange);
    }
    if (this.#isDraining) this.#announceClose();
  }

  mayParse(): boolean {
    const isBusy = this.#running?.request.complete === true || this.#waiting.length > 0;
    return !isBusy && this.#refuseRest === undefined;
  }

  get ignoresRest(): boolean {
    const { request, response } = this.#running ?? {};
    return request?.complete === true && response?.headersSent === true && response.getHeader("connection") === "close";
  }

  onArrival(): void {
    if (this.#running === undefined && !this.#isDropping) this.#headSince ??= performance.now();
    if (this.#isDraining) this.#announceClose();
  }

  keepUnparsed(bytes: number): void {
    this.hold(bytes - this.unparsedBytes);
    this.unparsedBytes = bytes;
  }

  keepUnsent(bytes: number): void {
    this.#running?.keep("unsent", bytes);
  }

  /** Handles an error of Node's parser. The requests before the malformed bytes are answered first. */
  takeError(error: ParserError): void {
    const refuseNow = () => refuse(error, this.socket, this.#hasBegunReply, this.shared.handlers.refuse);
    const isBehind = isRequestFault(error) && this.#running?.request.complete === true;
    // Node has left this connection, so nothing may run on it.
    if (error === noTunnel && !this.isIdle) this.socket.destroy();
    // Bytes after a request with `Connection: close` are not a request.
    else if (!isBehind || (this.#hasBegunReply && error.code !== "HPE_CLOSED_CONNECTION")) refuseNow();
    else this.#refuseRest ??= refuseNow;
  }

  check(now: number): void {
    const { headersTimeoutMs, requestTimeoutMs, idleTimeoutMs, sendTimeoutMs } = this.shared.times;
    const running = this.#running;
    if (now - (this.socket.stuckSince ?? now) > sendTimeoutMs) this.cut();
    else if (this.socket.writableEnded) {
      this.#endedAt ??= now;
      if (now - this.#endedAt > LINGER_MS && this.socket.writableFinished) this.socket.destroy();
    } else if (running !== undefined) {
      running.keep("unsent", this.socket.writableLength);
      if (this.ignoresRest) this.socket.parse(); // some may have come before the head of the reply was sent
      if (!running.request.complete && now - running.arrivedAt > requestTimeoutMs) this.takeError(lateRequest);
    } else if (this.#isDropping) {
      if (now - (this.#before as Exchange).arrivedAt > requestTimeoutMs) this.cut();
    } else if (this.#headSince !== undefined) {
      if (now - this.#headSince > headersTimeoutMs) this.takeError(lateRequest);
    } else if (now - this.quietSince > idleTimeoutMs) this.socket.end();
  }

  drain(): void {
    this.#isDraining = true;
    if (this.#running !== undefined) this.#announceClose();
    else if (this.#headSince === undefined) this.socket.end();
  }

  protected refuseToHold(): void {
    this.cut();
  }

  /** Whether the rest of a body arrives that nobody reads, because its request has been answered. */
  get #isDropping(): boolean {
    return this.#before?.request.complete === false;
  }

  #start(exchange: Exchange): void {
    const { request, response } = exchange;
    this.#running = exchange;
    this.#headSince = undefined;
    response.once("close", () => this.#finish(exchange));
    this.shared.handlers.handle(request, response);
  }

  #finish(exchange: Exchange): void {
    exchange.close();
    this.#running = undefined;
    this.#before = exchange;
    this.quietSince = performance.now();
    if (this.socket.destroyed || this.socket.writableEnded) return;
    const next = this.#waiting.shift();
    if (next !== undefined) this.#start(next);
    else if (this.#refuseRest !== undefined) this.#refuseRest();
    else if (this.socket.unparsedBytes > 0) this.#headSince = performance.now();
    // A reply whose head was sent before the drain did not announce the close.
    else if (this.#isDraining) this.socket.end();
    this.socket.parse();
  }

  /** The last reply announces the close, and no other: Node drops every reply after that one. */
  #announceClose(): void {
    const last = this.socket.unparsedBytes > 0 ? undefined : (this.#waiting.at(-1) ?? this.#running);
    for (const exchange of [this.#running, ...this.#waiting]) {
      if (exchange === undefined || exchange.response.headersSent) continue;
      exchange.response.setHeader("Connection", exchange === last ? "close" : "keep-alive");
    }
  }

  get #hasBegunReply(): boolean {
    return this.#running?.response.headersSent === true;
  }
}
