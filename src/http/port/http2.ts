import { type IncomingMessage, METHODS, type ServerResponse } from "node:http";
import http2 from "node:http2";
import type { Socket } from "node:net";
import { TurnScheduler } from "../../timing/turn-scheduler.ts";
import type { BodyBudget } from "./body-budget.ts";
import { Http2Sender } from "./http2-sender.ts";
import type { BudgetedConnection } from "./idle-budget.ts";
import type { SendWatch } from "./send-watch.ts";
import { SessionEnding } from "./session-ending.ts";
import { transportOf } from "./transport.ts";

export interface Http2Limits {
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  idleTimeoutMs: number;
}

/** The memory of a session without a running request, in bytes, with a head that has not arrived. */
const IDLE_BYTES = 48 * 1024;
/** The maximum number of concurrent calls of a session. */
const MAX_CONCURRENT_STREAMS = 128;
/** In MB, including unsent replies. With Node's default of 10, large replies on many streams would block further streams. */
const MAX_SESSION_MEMORY = 64;
/** How many requests begin in one turn of the event loop, over all sessions. Sessions take turns. */
const MAX_REQUESTS_A_TURN = 16;
/** How many streams end in one turn of the event loop, over all sessions. A stream that the server cuts counts twice. */
const MAX_ENDS_A_TURN = 16;
/** How many streams a session may reset in a burst, and per second in the long run. Clients do cancel calls. */
const RESET_BURST = 500;
const RESETS_A_SECOND = 50;
/** nghttp2's own limit, which does not tell the client why. It is more than one read can hold, so that ours comes first. */
const NGHTTP2_RESET_BURST = 4000;
/** How long a peer may take to close its side after we ended the session, in milliseconds. */
const LINGER_MS = 1000;

/** A request with another method is refused at once, whatever its body is. */
const KNOWN_METHODS: ReadonlySet<string | undefined> = new Set(METHODS);
/** The content types of calls that may be answered before their requests are complete. */
const STREAM_TYPES = /^application\/(?:grpc|connect\+)/i;

type Stream = http2.ServerHttp2Stream;

interface Session extends BudgetedConnection {
  /** Handles a request when its body has arrived, when its turn comes and when the replies before it have been sent. */
  take(stream: Stream, work: () => void): void;
  /** Ends the session gracefully. */
  end(): void;
}

/** The HTTP/2 sessions of a port, with time limits, which Node does not have for sessions. */
export class Http2Sessions {
  readonly #limits: Http2Limits;
  readonly #sendWatch: SendWatch;
  readonly #bodies: BodyBudget;
  readonly #requestTurns = new TurnScheduler(MAX_REQUESTS_A_TURN);
  readonly #endTurns = new TurnScheduler(MAX_ENDS_A_TURN);
  readonly #sessions = new Map<http2.ServerHttp2Session, Session>();
  /** The open streams of each connection. */
  readonly #openStreams = new Map<Socket, ReadonlySet<Stream>>();
  #draining = false;

  constructor(limits: Http2Limits, sendWatch: SendWatch, bodies: BodyBudget) {
    this.#limits = limits;
    this.#sendWatch = sendWatch;
    this.#bodies = bodies;
  }

  get size(): number {
    return this.#sessions.size;
  }

  /** Whether a connection has no open stream; undefined for an unknown connection. */
  isIdle(socket: Socket): boolean | undefined {
    const open = this.#openStreams.get(socket);
    return open === undefined ? undefined : open.size === 0;
  }

  /** Creates a server for `serve`. It does not listen. */
  createServer(handler: (request: IncomingMessage, response: ServerResponse) => void): http2.Http2Server {
    return http2.createServer(
      {
        settings: { maxConcurrentStreams: MAX_CONCURRENT_STREAMS },
        maxSessionMemory: MAX_SESSION_MEMORY,
        streamResetBurst: NGHTTP2_RESET_BURST,
        streamResetRate: RESETS_A_SECOND,
      },
      (request, response) => {
        const { stream } = request;
        const session = stream.session && this.#sessions.get(stream.session as http2.ServerHttp2Session);
        // Fastify and Connect use only what the requests of both protocols have in common.
        session?.take(stream, () => handler(request as never, response as never));
      },
    );
  }

  /** Serves a new connection. */
  serve(server: http2.Http2Server, socket: Socket): void {
    if (socket.destroyed) return;
    socket.allowHalfOpen = false; // http.Server sets it; the session would outlive a peer that has left
    server.once("session", (session) => this.#watch(session, socket)); // emitted before emit() returns
    server.emit("connection", socket);
  }

  /** All sessions, the oldest first. */
  all(): Iterable<BudgetedConnection> {
    return this.#sessions.values();
  }

  /** Sends GOAWAY on every session. Running streams may finish, and the session ends with the last one. */
  drain(): void {
    this.#draining = true;
    for (const { end } of this.#sessions.values()) end();
  }

  #watch(session: http2.ServerHttp2Session, socket: Socket): void {
    const { headersTimeoutMs, requestTimeoutMs, idleTimeoutMs } = this.#limits;
    const transport = transportOf(socket);
    const streams = new Set<Stream>();
    this.#openStreams.set(transport, streams);
    const ending = new SessionEnding(session, { socket, transport }, streams, this.#endTurns);
    // Runs only while no stream is open, because a long silent call is not idle.
    let timer: NodeJS.Timeout | undefined;
    const after = (ms: number, action: () => void) => {
      clearTimeout(timer);
      timer = setTimeout(action, ms);
    };
    const end = () => {
      session.close();
      // Node would wait without limit until the peer closes its side.
      if (streams.size === 0) after(LINGER_MS, () => socket.destroy());
    };

    const sender = new Http2Sender(transport, this.#sendWatch, this.#requestTurns);
    const bodies = this.#bodies.connection(transport);
    /** Requests whose bodies have not arrived, with what begins to handle them. */
    const arriving = new Map<Stream, (() => void) | undefined>();
    const take = (stream: Stream, work: () => void) => {
      const begin = () => sender.take(stream, work);
      if (arriving.has(stream)) arriving.set(stream, begin);
      else begin();
    };
    const idleBytes = () => (session.destroyed || ending.isPending || hasRequest(streams) ? 0 : IDLE_BYTES);
    // At once, because the memory is needed: a peer could draw out a graceful end.
    const endIdle = () => session.destroy(undefined, http2.constants.NGHTTP2_NO_ERROR);
    this.#sessions.set(session, { take, end, idleBytes, endIdle });
    let resets = 0;
    let isCutting = false;
    let resetAt = performance.now();
    /** Resetting requests at once makes work that no other limit counts. */
    const countReset = () => {
      const now = performance.now();
      resets = Math.max(0, resets - ((now - resetAt) / 1000) * RESETS_A_SECOND) + 1;
      resetAt = now;
      if (resets <= RESET_BURST || isCutting) return;
      isCutting = true;
      // Not within the callback of nghttp2 that has just reported the reset.
      setImmediate(() => {
        if (ending.isPending || session.destroyed) return;
        session.goaway(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
        session.destroy();
      });
    };
    socket.once("close", () => {
      clearTimeout(timer);
      this.#sessions.delete(session);
      this.#openStreams.delete(transport);
    });
    // This must run before the listener that passes the request to the application.
    session.prependListener("stream", (stream, headers, flags) => {
      sender.follow(stream);
      streams.add(stream);
      ending.followStream(stream);
      // A reset counts when it arrives. When its stream ends, nghttp2 may have ended the session by its own limit.
      let isCounted = false;
      const countOnce = () => {
        if (isCounted || stream.rstCode === http2.constants.NGHTTP2_NO_ERROR) return;
        isCounted = true;
        countReset();
      };
      stream.on("aborted", countOnce);
      clearTimeout(timer);
      const requestEnded = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
      const stalled = requestEnded ? undefined : setTimeout(cutUnlessRequestEnded, requestTimeoutMs, stream);
      const calm = () => stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
      const hasArrived = requestEnded || stream.state.remoteClose === 1;
      const mayStream = STREAM_TYPES.test(headers["content-type"] ?? "") || !KNOWN_METHODS.has(headers[":method"]);
      const onPassed = () => {
        const begin = arriving.get(stream);
        arriving.delete(stream);
        begin?.();
      };
      if (!hasArrived && !mayStream) arriving.set(stream, undefined);
      const release = hasArrived
        ? undefined
        : bodies.follow(stream, headers["content-encoding"], calm, mayStream ? undefined : onPassed);
      stream.on("finish", () => {
        sender.finished(stream);
        // Drops what a client still sends once the reply is complete. Without this, a client that sends its whole body
        // before it reads the reply would wait for flow control until the request times out.
        if (!requestEnded && !stream.readableEnded) stream.removeAllListeners("data").resume();
      });
      // Without one of these fields, Fastify assumes that the request has no body.
      if (!requestEnded && headers["content-length"] === undefined) headers["transfer-encoding"] = "chunked";
      stream.on("close", () => {
        sender.closed(stream);
        clearTimeout(stalled);
        release?.();
        arriving.delete(stream);
        streams.delete(stream);
        ending.continue();
        countOnce();
        if (streams.size > 0) return;
        if (session.closed) end();
        else after(idleTimeoutMs, end);
      });
    });
    if (this.#draining) end();
    else after(headersTimeoutMs, end);
  }
}

/** Whether a request has arrived whole, or its reply has begun. Requests that do not arrive must not protect a session. */
function hasRequest(streams: Iterable<Stream>): boolean {
  for (const stream of streams) if (stream.headersSent || stream.state.remoteClose === 1) return true;
  return false;
}

/** Uses the state of the stream: its `end` event may never come, because the handler need not read the body. */
function cutUnlessRequestEnded(stream: Stream): void {
  if (!stream.destroyed && stream.state.remoteClose !== 1) stream.close(http2.constants.NGHTTP2_CANCEL);
}
