import http2 from "node:http2";
import type { Socket } from "node:net";
import { TurnScheduler } from "../../timing/turn-scheduler.ts";
import { ArrivalGate } from "./arrival-gate.ts";
import type { BodyBudget } from "./body-budget.ts";
import { Http2Connection, type Http2Limits, RESETS_A_SECOND } from "./http2-connection.ts";
import { portStreamOf } from "./http2-stream.ts";
import type { BudgetedConnection } from "./idle-budget.ts";
import type { Handler } from "./request-handlers.ts";
import type { SendWatch } from "./send-watch.ts";
import { transportOf } from "./transport.ts";

/** The maximum number of concurrent calls of a session. */
const MAX_CONCURRENT_STREAMS = 128;
/** In MB, including unsent replies. With Node's default of 10, large replies on many streams would block further streams. */
const MAX_SESSION_MEMORY = 64;
/** How many requests begin in one turn of the event loop, over all sessions. Sessions take turns. */
const MAX_REQUESTS_A_TURN = 16;
/** How many streams end in one turn of the event loop, over all sessions. */
const MAX_ENDS_A_TURN = 16;
/** nghttp2's own limit, which does not tell the client why. It is more than one read can hold, so that ours comes first. */
const NGHTTP2_RESET_BURST = 4000;

/** The HTTP/2 sessions of a port, with time limits, which Node does not have for sessions. */
export class Http2Sessions {
  readonly #limits: Http2Limits;
  readonly #sendWatch: SendWatch;
  readonly #bodies: BodyBudget;
  readonly #requestTurns = new TurnScheduler(MAX_REQUESTS_A_TURN);
  readonly #endTurns = new TurnScheduler(MAX_ENDS_A_TURN);
  readonly #gate = new ArrivalGate(this.#endTurns);
  readonly #connections = new Map<Socket, Http2Connection>();
  #draining = false;

  constructor(limits: Http2Limits, sendWatch: SendWatch, bodies: BodyBudget) {
    this.#limits = limits;
    this.#sendWatch = sendWatch;
    this.#bodies = bodies;
  }

  get size(): number {
    return this.#connections.size;
  }

  /** Whether a connection has no open stream; undefined for an unknown connection. */
  isIdle(socket: Socket): boolean | undefined {
    const connection = this.#connections.get(socket);
    return connection && connection.openStreams === 0;
  }

  /** Creates a server for `handle`. It does not listen. */
  createServer(handle: Handler): http2.Http2Server {
    const settings = {
      settings: { maxConcurrentStreams: MAX_CONCURRENT_STREAMS },
      maxSessionMemory: MAX_SESSION_MEMORY,
      streamResetBurst: NGHTTP2_RESET_BURST,
      streamResetRate: RESETS_A_SECOND,
    };
    return http2.createServer(settings, (request, response) => {
      const open = portStreamOf(request.stream);
      // The messages of both protocols have in common what the handlers use.
      open?.connection.take(open, () => handle(request as never, response as never));
    });
  }

  /** Serves a new connection, as soon as sessions may begin. @param onBegin is called then */
  serve(server: http2.Http2Server, socket: Socket, onBegin: () => void): void {
    this.#gate.enter(() => {
      onBegin();
      if (!socket.destroyed) this.#begin(server, socket);
    });
  }

  #begin(server: http2.Http2Server, socket: Socket): void {
    socket.allowHalfOpen = false; // http.Server sets it; the session would outlive a peer that has left
    server.once("session", (session) => this.#watch(session, socket)); // emitted before emit() returns
    server.emit("connection", socket);
  }

  /** All sessions, the oldest first. */
  all(): Iterable<BudgetedConnection> {
    return this.#connections.values();
  }

  /** Sends GOAWAY on every session. Running streams may finish, and the session ends with the last one. */
  drain(): void {
    this.#draining = true;
    for (const connection of this.#connections.values()) connection.end();
  }

  #watch(session: http2.ServerHttp2Session, socket: Socket): void {
    const transport = transportOf(socket);
    const connection = new Http2Connection(session, socket, {
      limits: this.#limits,
      sendWatch: this.#sendWatch,
      bodies: this.#bodies,
      requestTurns: this.#requestTurns,
      endTurns: this.#endTurns,
      gate: this.#gate,
    });
    this.#connections.set(transport, connection);
    socket.once("close", () => this.#connections.delete(transport));
    if (this.#draining) connection.end();
  }
}
