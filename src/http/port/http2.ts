import type { IncomingMessage, ServerResponse } from "node:http";
import http2, { type ServerHttp2Session, type ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import { Connection, LINGER_MS, type SharedByConnections } from "./connection.ts";
import { Exchange, OBJECT_BYTES } from "./exchange.ts";

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM } = http2.constants;

/** How many requests a connection may have at a time. Each takes some KiB before anything is done. */
export const WIDE = 128;
/** How many connections may have so many. */
export const MAX_WIDE = 32;
/** How many requests each further connection may have at a time. */
export const NARROW = 16;

/** A client may cancel 500 calls at once, and 50 a second. A request that is reset makes work that no other limit counts. */
export const clientResets: http2.ServerOptions = { streamResetBurst: 500, streamResetRate: 50 };
/** Over one connection, a proxy passes on what many clients cancel. */
export const proxyResets: http2.ServerOptions = { streamResetBurst: 5_000, streamResetRate: 5_000 };

/** The response to an HTTP/2 request. */
export class Http2Response extends http2.Http2ServerResponse {
  exchange: Exchange | undefined = undefined;

  override write(...given: unknown[]): boolean {
    this.#count(given[0]);
    return (super.write as (...given: unknown[]) => boolean)(...given);
  }

  override end(...given: unknown[]): this {
    this.#count(given[0]);
    return (super.end as (...given: unknown[]) => this)(...given);
  }

  #count(chunk: unknown): void {
    const length = typeof chunk === "string" || chunk instanceof Uint8Array ? chunk.length : 0;
    if (length > 0) this.exchange?.keep("unsent", this.stream.writableLength + length);
  }
}

/** An HTTP/2 connection. It handles as many requests at a time as its settings allow. */
export class Http2Connection extends Connection {
  readonly #session: ServerHttp2Session;
  readonly #exchanges = new Set<Exchange>();
  /** The requests that have not begun. Those that are over are removed: thousands may wait when a connection is cut. */
  readonly #waiting = new Set<Exchange>();
  #waitsForTurn = false;
  /** When the session was told to end, by us or by the client. */
  #endedAt: number | undefined;
  /** When the client last answered a PING. */
  #heardAt = 0;

  constructor(session: ServerHttp2Session, transport: Socket, shared: SharedByConnections) {
    super(transport, shared);
    this.#session = session;
  }

  get isIdle(): boolean {
    return this.#exchanges.size === 0;
  }

  /** Handles a request when its turn comes. */
  take(request: http2.Http2ServerRequest, response: Http2Response): void {
    // The messages of both protocols have in common what the handlers use.
    const exchange = new Exchange(this, request as unknown as IncomingMessage, response as unknown as ServerResponse);
    exchange.keep("objects", OBJECT_BYTES);
    response.exchange = exchange;
    this.#exchanges.add(exchange);
    // Drops what a client still sends after its reply. Otherwise the request would stay open until its time limit.
    response.stream.once("finish", () => request.resume());
    response.once("close", () => this.#close(exchange));
    this.#waiting.add(exchange);
    this.#startWaiting();
  }

  check(now: number): void {
    const { requestTimeoutMs, idleTimeoutMs, sendTimeoutMs } = this.shared.times;
    for (const exchange of this.#exchanges) {
      const stream = streamOf(exchange);
      exchange.keep("unsent", stream.writableLength);
      if (now - exchange.arrivedAt > requestTimeoutMs && stream.state.remoteClose !== 1)
        this.#end(stream, NGHTTP2_CANCEL);
      const mayTime = !exchange.isTimed && Number.isFinite(sendTimeoutMs);
      if (stream.writableLength > 0 && mayTime) this.#time(exchange, sendTimeoutMs);
    }
    const silentMs = this.isIdle ? 0 : now - Math.max(this.#heardAt, this.quietSince);
    // Node reads no more of a session that has broken the protocol. So it may not see its client leave.
    if (silentMs > 2 * idleTimeoutMs) this.transport.destroy();
    else if (silentMs > idleTimeoutMs && !this.#session.destroyed)
      this.#session.ping((error) => {
        if (error === null) this.#heardAt = performance.now();
      });
    if (this.#session.closed || this.#session.destroyed) this.#endedAt ??= now;
    if (this.#endedAt !== undefined) {
      if (this.isIdle && now - Math.max(this.#endedAt, this.quietSince) > LINGER_MS) this.transport.destroy();
    } else if (this.isIdle && now - this.quietSince > idleTimeoutMs) this.drain();
  }

  /** Sends GOAWAY. Running requests may finish, and the session ends with the last one. */
  drain(): void {
    this.#endedAt = performance.now();
    this.#session.close();
  }

  protected refuseToHold(exchange: Exchange): void {
    this.#end(streamOf(exchange), NGHTTP2_ENHANCE_YOUR_CALM);
  }

  #startWaiting(): void {
    while (this.#waiting.size > 0 && !this.#waitsForTurn) {
      if (this.shared.turns.take()) this.#startNext();
      else {
        this.#waitsForTurn = true;
        this.shared.turns.wait(this.transport.remoteAddress, () => {
          this.#waitsForTurn = false;
          this.#startNext();
          this.#startWaiting();
        });
      }
    }
  }

  #startNext(): void {
    const [exchange] = this.#waiting;
    if (exchange !== undefined) this.#waiting.delete(exchange);
    if (exchange === undefined || streamOf(exchange).destroyed || this.transport.destroyed) return;
    this.shared.handlers.handle(exchange.request, exchange.response);
  }

  /** Ends a stream that does not take its reply. Each progress starts the time again. */
  #time(exchange: Exchange, sendTimeoutMs: number): void {
    exchange.isTimed = true;
    const stream = streamOf(exchange);
    stream.setTimeout(sendTimeoutMs);
    stream.on("timeout", () => {
      if (stream.writableLength > 0) this.#end(stream, NGHTTP2_CANCEL);
    });
  }

  #end(stream: ServerHttp2Stream, code: number): void {
    stream.close(code);
    stream.destroy();
  }

  #close(exchange: Exchange): void {
    exchange.close();
    this.#exchanges.delete(exchange);
    this.#waiting.delete(exchange);
    this.quietSince = performance.now();
  }
}

function streamOf({ response }: Exchange): ServerHttp2Stream {
  return (response as unknown as http2.Http2ServerResponse).stream;
}
