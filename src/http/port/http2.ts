import type { IncomingMessage, ServerResponse } from "node:http";
import http2 from "node:http2";
import type { Socket } from "node:net";
import type { BodyBudget } from "./body-budget.ts";
import { Http2Sender } from "./http2-sender.ts";
import type { SendWatch } from "./send-watch.ts";
import { transportOf } from "./transport.ts";

export interface Http2Limits {
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  idleTimeoutMs: number;
}

/** How many calls one session may have open at a time. */
const MAX_CONCURRENT_STREAMS = 256;
/** In MB, replies waiting to be sent included: at Node's 10, full pages on many streams would refuse further streams. */
const MAX_SESSION_MEMORY = 64;
/** How many streams of a session may be reset in short order, and how many a second for good. Clients do cancel calls. */
const RESET_BURST = 500;
const RESETS_A_SECOND = 50;
/** How long the peer of a session that we ended may take to close its side. */
const LINGER_MS = 1000;

interface Session {
  sender: Http2Sender;
  /** Ends the session gracefully. */
  end(): void;
}

/** The HTTP/2 sessions of a port, and their time limits: Node gives a session none. */
export class Http2Sessions {
  readonly #limits: Http2Limits;
  readonly #sendWatch: SendWatch;
  readonly #bodies: BodyBudget;
  readonly #sessions = new Map<http2.ServerHttp2Session, Session>();
  /** How many streams are open on each connection. */
  readonly #openStreams = new Map<Socket, number>();
  #draining = false;

  constructor(limits: Http2Limits, sendWatch: SendWatch, bodies: BodyBudget) {
    this.#limits = limits;
    this.#sendWatch = sendWatch;
    this.#bodies = bodies;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether no stream of a connection is open; undefined if it is none of these. */
  isIdle(socket: Socket): boolean | undefined {
    const open = this.#openStreams.get(socket);
    return open === undefined ? undefined : open === 0;
  }

  /** Makes a server that does not listen, for `serve`. */
  createServer(handler: (request: IncomingMessage, response: ServerResponse) => void): http2.Http2Server {
    return http2.createServer(
      { settings: { maxConcurrentStreams: MAX_CONCURRENT_STREAMS }, maxSessionMemory: MAX_SESSION_MEMORY },
      (request, response) => {
        const { stream } = request;
        const session = stream.session && this.#sessions.get(stream.session as http2.ServerHttp2Session);
        // Fastify and Connect take the requests of both protocols for what they have in common.
        session?.sender.take(stream, () => handler(request as never, response as never));
      },
    );
  }

  /** Serves a new connection. */
  serve(server: http2.Http2Server, socket: Socket): void {
    if (socket.destroyed) return;
    socket.allowHalfOpen = false; // an http.Server sets it, and the session would outlive a peer that has gone
    server.once("session", (session) => this.#watch(session, socket)); // emitted before emit() returns
    server.emit("connection", socket);
  }

  /** Sends GOAWAY on every session; running streams may finish, the session ends with the last one. */
  drain(): void {
    this.#draining = true;
    for (const { end } of this.#sessions.values()) end();
  }

  #watch(session: http2.ServerHttp2Session, socket: Socket): void {
    const { headersTimeoutMs, requestTimeoutMs, idleTimeoutMs } = this.#limits;
    const transport = transportOf(socket);
    let openStreams = 0;
    const count = (change: number) => {
      openStreams += change;
      this.#openStreams.set(transport, openStreams);
    };
    // Runs only while no stream is open: a call that is quiet for long is not idle.
    let timer: NodeJS.Timeout | undefined;
    const after = (ms: number, action: () => void) => {
      clearTimeout(timer);
      timer = setTimeout(action, ms);
    };
    const end = () => {
      session.close();
      // Node would wait for the peer to close its side without bound.
      if (openStreams === 0) after(LINGER_MS, () => socket.destroy());
    };

    const sender = new Http2Sender(transport, this.#sendWatch);
    const bodies = this.#bodies.connection(transport);
    count(0);
    this.#sessions.set(session, { sender, end });
    let resets = 0;
    let resetAt = performance.now();
    /** A client that begins requests only to reset them makes work that nobody counts. */
    const countReset = () => {
      const now = performance.now();
      resets = Math.max(0, resets - ((now - resetAt) / 1000) * RESETS_A_SECOND) + 1;
      resetAt = now;
      if (resets <= RESET_BURST || session.destroyed) return;
      session.goaway(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
      session.destroy();
    };
    socket.once("close", () => {
      clearTimeout(timer);
      this.#sessions.delete(session);
      this.#openStreams.delete(transport);
    });
    // Before the listener that hands the request to the application.
    session.prependListener("stream", (stream, headers, flags) => {
      sender.follow(stream);
      count(1);
      clearTimeout(timer);
      const requestEnded = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      const stalled = requestEnded ? undefined : setTimeout(cutUnlessRequestEnded, requestTimeoutMs, stream);
      const calm = () => stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
      const hasArrived = requestEnded || stream.state.remoteClose === 1;
      const release = hasArrived ? undefined : bodies.follow(stream, headers["content-encoding"], calm);
      // Fastify takes a request without either of these fields for one without a body.
      if (!requestEnded && headers["content-length"] === undefined) headers["transfer-encoding"] = "chunked";
      stream.once("close", () => {
        clearTimeout(stalled);
        release?.();
        count(-1);
        if (stream.rstCode !== http2.constants.NGHTTP2_NO_ERROR) countReset();
        if (openStreams > 0) return;
        if (session.closed) end();
        else after(idleTimeoutMs, end);
      });
    });
    if (this.#draining) end();
    else after(headersTimeoutMs, end);
  }
}

/** The handler may never read the body, so the stream's own `end` event does not tell whether the request has ended. */
function cutUnlessRequestEnded(stream: http2.ServerHttp2Stream): void {
  if (!stream.destroyed && stream.state.remoteClose !== 1) stream.close(http2.constants.NGHTTP2_CANCEL);
}
