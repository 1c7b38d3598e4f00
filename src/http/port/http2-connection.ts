import { METHODS } from "node:http";
import http2 from "node:http2";
import type { Socket } from "node:net";
import type { TurnScheduler } from "../../timing/turn-scheduler.ts";
import type { ArrivalGate, GatedSession } from "./arrival-gate.ts";
import type { BodyBudget, ConnectionBodies } from "./body-budget.ts";
import { Http2Sender, SESSION_BYTES } from "./http2-sender.ts";
import { PortStream } from "./http2-stream.ts";
import type { BudgetedConnection } from "./idle-budget.ts";
import { MemberList } from "./member-list.ts";
import type { SendWatch } from "./send-watch.ts";
import { SessionEnding } from "./session-ending.ts";
import { startReading, stopReading, transportOf } from "./transport.ts";

/** Time limits, in milliseconds. */
export interface Http2Limits {
  headersTimeoutMs: number;
  requestTimeoutMs: number;
  idleTimeoutMs: number;
}

/** What the sessions of a port share. */
interface SharedByConnections {
  limits: Http2Limits;
  sendWatch: SendWatch;
  bodies: BodyBudget;
  /** Says how many requests begin in one turn of the event loop. */
  requestTurns: TurnScheduler;
  /** Says how many streams end in one turn of the event loop. */
  endTurns: TurnScheduler;
  gate: ArrivalGate;
}

/** How many streams a session may reset in a burst, and per second in the long run. Clients do cancel calls. */
const RESET_BURST = 500;
export const RESETS_A_SECOND = 50;
/** How long a peer may take to close its side after we ended the session, in milliseconds. */
const LINGER_MS = 1000;

/** A request with another method is refused at once, whatever its body is. */
const KNOWN_METHODS: ReadonlySet<string | undefined> = new Set(METHODS);
/** The content types of calls that may be answered before their requests are complete. */
const STREAM_TYPES = /^application\/(?:grpc|connect\+)/i;

/** One HTTP/2 session and its streams. */
export class Http2Connection implements BudgetedConnection, GatedSession {
  readonly #session: http2.ServerHttp2Session;
  readonly #socket: Socket;
  readonly #transport: Socket;
  readonly #limits: Http2Limits;
  readonly #gate: ArrivalGate;
  #isStopped = false;
  readonly #streams = new MemberList<PortStream>();
  readonly #ending: SessionEnding;
  readonly #sender: Http2Sender;
  readonly #bodies: ConnectionBodies;
  /** Runs only while no stream is open, because a long silent call is not idle. */
  #timer: NodeJS.Timeout | undefined;
  /** Runs while a request may be late. One timer for all streams, because most requests arrive at once. */
  #lateTimer: NodeJS.Timeout | undefined;
  #resets = 0;
  #resetAt = performance.now();
  #isCutting = false;

  /** To be created when the session begins. */
  constructor(session: http2.ServerHttp2Session, socket: Socket, shared: SharedByConnections) {
    const transport = transportOf(socket);
    this.#session = session;
    this.#socket = socket;
    this.#transport = transport;
    this.#limits = shared.limits;
    this.#gate = shared.gate;
    this.#ending = new SessionEnding(session, { socket, transport }, this.#streams, shared.endTurns);
    this.#sender = new Http2Sender(transport, this.#streams, this.#ending, shared);
    this.#bodies = shared.bodies.connection(transport);
    shared.gate.add(this);
    socket.once("close", () => {
      shared.gate.remove(this);
      clearTimeout(this.#timer);
      clearTimeout(this.#lateTimer);
    });
    // This must run before the listener that passes the request to the application.
    session.prependListener("stream", (stream, headers, flags) => this.#follow(stream, headers, flags));
    this.#after(shared.limits.headersTimeoutMs);
  }

  /** How many streams are open. */
  get openStreams(): number {
    return this.#streams.size;
  }

  /** Handles a request when its body has arrived, when its turn comes and when the replies before it have been sent. */
  take(open: PortStream, work: () => void): void {
    if (open.isArriving) open.begin = work;
    else this.#sender.take(open, work);
  }

  /** Ends the session gracefully. */
  readonly end = () => {
    this.#session.close();
    // Node would wait without limit until the peer closes its side.
    if (this.#streams.size > 0) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#socket.destroy(), LINGER_MS);
  };

  idleBytes(): number {
    return this.#session.destroyed || this.#ending.isPending || hasRequest(this.#streams) ? 0 : SESSION_BYTES;
  }

  /** At once, because the memory is needed: a peer could draw out a graceful end. */
  endIdle(): void {
    this.#session.destroy(undefined, http2.constants.NGHTTP2_NO_ERROR);
  }

  stopReading(): void {
    this.#isStopped = true;
    stopReading(this.#transport);
  }

  startReading(): void {
    if (!this.#isStopped) return;
    this.#isStopped = false;
    if (!this.#ending.isPending) startReading(this.#transport);
  }

  #after(ms: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(this.end, ms);
  }

  #follow(stream: http2.ServerHttp2Stream, headers: http2.IncomingHttpHeaders, flags: number): void {
    this.#gate.arrive(this);
    const hadEnded = (flags & http2.constants.NGHTTP2_FLAG_END_STREAM) !== 0;
    const open = new PortStream(stream, this, this.#sender, hadEnded);
    this.#sender.follow(open);
    this.#streams.add(open);
    this.#ending.followStream(stream);
    clearTimeout(this.#timer);
    open.follow();
    if (hadEnded) return;
    // Without one of these fields, Fastify assumes that the request has no body.
    if (headers["content-length"] === undefined) headers["transfer-encoding"] = "chunked";
    open.deadline = performance.now() + this.#limits.requestTimeoutMs;
    this.#lateTimer ??= setTimeout(this.#cutLate, this.#limits.requestTimeoutMs);
    if (stream.state.remoteClose === 1) return;
    const mayStream = STREAM_TYPES.test(headers["content-type"] ?? "") || !KNOWN_METHODS.has(headers[":method"]);
    open.isArriving = !mayStream;
    const calm = () => stream.close(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
    const onPassed = mayStream ? undefined : () => this.#onPassed(open);
    open.body = this.#bodies.follow(stream, headers["content-encoding"], calm, onPassed);
  }

  /** Cuts the streams whose requests have not arrived in time. */
  readonly #cutLate = () => {
    const now = performance.now();
    let next = Number.POSITIVE_INFINITY;
    for (const { stream, deadline } of this.#streams.all()) {
      if (deadline > now) next = Math.min(next, deadline);
      else cutUnlessRequestEnded(stream);
    }
    this.#lateTimer = next === Number.POSITIVE_INFINITY ? undefined : setTimeout(this.#cutLate, next - now);
  };

  #onPassed(open: PortStream): void {
    const { begin } = open;
    open.isArriving = false;
    open.begin = undefined;
    if (begin !== undefined) this.#sender.take(open, begin);
  }

  /** A reset counts when it arrives. When its stream ends, nghttp2 may have ended the session by its own limit. */
  onReset(open: PortStream): void {
    if (open.isCounted || open.stream.rstCode === http2.constants.NGHTTP2_NO_ERROR) return;
    open.isCounted = true;
    this.#countReset();
  }

  onFinish(open: PortStream): void {
    const { stream } = open;
    this.#sender.finished(open);
    // Drops what a client still sends once the reply is complete. Without this, a client that sends its whole body
    // before it reads the reply would wait for flow control until the request times out.
    if (!open.hadEnded && !stream.readableEnded) stream.removeAllListeners("data").resume();
  }

  onClose(open: PortStream): void {
    this.#streams.delete(open);
    this.#sender.closed(open);
    open.body?.release();
    open.isArriving = false;
    this.#ending.continue();
    this.onReset(open);
    if (this.#streams.size > 0) return;
    if (this.#session.closed) this.end();
    else this.#after(this.#limits.idleTimeoutMs);
  }

  /** Resetting requests at once makes work that no other limit counts. */
  #countReset(): void {
    const now = performance.now();
    this.#resets = Math.max(0, this.#resets - ((now - this.#resetAt) / 1000) * RESETS_A_SECOND) + 1;
    this.#resetAt = now;
    if (this.#resets <= RESET_BURST || this.#isCutting) return;
    this.#isCutting = true;
    // Not within the callback of nghttp2 that has just reported the reset.
    setImmediate(() => {
      if (this.#ending.isPending || this.#session.destroyed) return;
      this.#session.goaway(http2.constants.NGHTTP2_ENHANCE_YOUR_CALM);
      this.#session.destroy();
    });
  }
}

/** Whether a request has arrived whole, or its reply has begun. Requests that do not arrive must not protect a session. */
function hasRequest(streams: Iterable<PortStream>): boolean {
  for (const { stream } of streams) if (stream.headersSent || stream.state.remoteClose === 1) return true;
  return false;
}

/** Uses the state of the stream: its `end` event may never come, because the handler need not read the body. */
function cutUnlessRequestEnded(stream: http2.ServerHttp2Stream): void {
  if (!stream.destroyed && stream.state.remoteClose !== 1) stream.close(http2.constants.NGHTTP2_CANCEL);
}
