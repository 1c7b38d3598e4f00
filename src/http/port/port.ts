// One listening port for HTTP/1.1 and HTTP/2. Without TLS the first bytes of a connection decide between them (Node has
// nothing built in), with TLS it is ALPN. The server that listens is always an http.Server, since Node enforces its
// header and request timeouts only there; HTTP/2 connections are handed to an http2.Server that never listens.

import http from "node:http";
import https from "node:https";
import net from "node:net";
import type { TLSSocket } from "node:tls";
import { BodyBudget, type BodyLimits } from "./body-budget.ts";
import { type ClientErrorReply, rawReply, refuse } from "./client-error.ts";
import { ConnectionCaps, type ConnectionLimits } from "./connection-caps.ts";
import { type Handler, Http1Connections } from "./http1.ts";
import { Http2Sessions } from "./http2.ts";
import { InterceptedRequest } from "./intercept-push.ts";
import { type SendLimits, SendWatch } from "./send-watch.ts";
import { sniff } from "./sniff.ts";

export type { ClientErrorReply };

/** How a port is set up. All times are in milliseconds. */
export interface PortOptions {
  /** Certificate chain and private key (PEM). With them the port speaks TLS only. */
  tls?: { cert: string | Buffer; key: string | Buffer } | undefined;
  /** For each step before a request is known: the first bytes or the TLS handshake, then a whole request head. */
  headersTimeoutMs: number;
  /** For a whole request to arrive, body included. */
  requestTimeoutMs: number;
  /** For a connection between requests: a kept-alive HTTP/1.1 connection, or an HTTP/2 session without open streams. */
  idleTimeoutMs: number;
  /** For what still runs after `beginDrain()`; whatever is left then is destroyed. */
  drainTimeoutMs: number;
  /** Bounds what waits for clients to read it; without them nothing does. */
  sending?: SendLimits | undefined;
  /** Bounds the bodies of requests that have not arrived whole. */
  bodies?: BodyLimits | undefined;
  /** How many connections there may be; without it, any number. */
  connections?: ConnectionLimits | undefined;
  /** Makes the reply to a connection that is one too many. */
  tooManyReply?: (() => ReturnType<ClientErrorReply>) | undefined;
  /** Makes the reply to an HTTP/1.1 request that Node's parser refuses; see `ClientErrorReply`. */
  clientErrorReply?: ClientErrorReply | undefined;
}

const unbounded: SendLimits = {
  sendTimeoutMs: Number.POSITIVE_INFINITY,
  maxUnsentPerConnection: Number.POSITIVE_INFINITY,
  maxUnsent: Number.POSITIVE_INFINITY,
};
/** A dead peer on a silent connection (a follower of receipts) is found by TCP keep-alive, which starts after this. */
const TCP_KEEP_ALIVE_MS = 60_000;

/**
 * A port to be given to Fastify: `Fastify({ serverFactory: port.serverFactory })`. To close in order, call `beginDrain()`
 * and await `drained()` in a `preClose` hook.
 */
export class Port {
  readonly #options: PortOptions;
  /** Fastify asks for a second server when it listens on a name with two addresses, such as localhost. */
  readonly #servers: http.Server[] = [];
  readonly #sockets = new Set<net.Socket>();
  readonly #caps: ConnectionCaps;
  readonly #sendWatch: SendWatch;
  readonly #http1: Http1Connections;
  readonly #http2: Http2Sessions;
  readonly #drained = Promise.withResolvers<void>();
  #drainTimer: NodeJS.Timeout | undefined;

  constructor(options: PortOptions) {
    this.#options = options;
    this.#caps = new ConnectionCaps(options.connections, (socket) => this.#isIdle(socket));
    this.#sendWatch = new SendWatch(options.sending ?? unbounded);
    const bodies = new BodyBudget(options.bodies);
    this.#http1 = new Http1Connections(this.#sendWatch, bodies, options);
    this.#http2 = new Http2Sessions(options, this.#sendWatch, bodies);
  }

  /** How many connections are open, and how many of them are HTTP/2 sessions. */
  get connections(): { total: number; http2: number } {
    return { total: this.#sockets.size, http2: this.#http2.size };
  }

  /** Makes the server that Fastify listens with; `handler` gets the requests of both protocols. */
  readonly serverFactory = (handler: Handler): http.Server => {
    const { tls, headersTimeoutMs, requestTimeoutMs, idleTimeoutMs } = this.#options;
    const settings = {
      headersTimeout: Math.min(headersTimeoutMs, requestTimeoutMs), // Node refuses a longer one
      requestTimeout: requestTimeoutMs,
      keepAliveTimeout: idleTimeoutMs,
      connectionsCheckingInterval: Math.min(1000, Math.ceil(headersTimeoutMs / 4)),
      IncomingMessage: InterceptedRequest,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEP_ALIVE_MS,
      noDelay: true,
      // An offer of h2c or of a WebSocket is not taken up, whoever listens for `upgrade`: the request is served as it is.
      shouldUpgradeCallback: () => false,
      // Node would answer by itself, without a body; the application answers such a request like any other it refuses.
      requireHostHeader: false,
    };
    const onRequest: Handler = (request, response) => {
      this.#http1.take(request, response, handler);
    };
    const h2 = this.#http2.createServer(handler);
    const server = tls
      ? (https.createServer(
          { ...settings, ...tls, ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout: headersTimeoutMs },
          onRequest,
        ) as unknown as http.Server)
      : http.createServer(settings, onRequest);

    // Likewise an expectation other than 100-continue, which may be ignored (RFC 9110, section 10.1.1).
    server.on("checkExpectation", onRequest);

    const serveHttp1 = takeListener(server, tls ? "secureConnection" : "connection");
    if (tls) {
      const shakeHands = takeListener(server, "connection");
      server.on("connection", (socket: net.Socket) => {
        if (this.#accept(socket)) shakeHands(socket);
      });
      server.on("secureConnection", (socket: TLSSocket) => {
        if (socket.alpnProtocol === "h2") this.#http2.serve(h2, socket);
        else this.#http1.serve(socket, serveHttp1);
      });
    } else {
      server.on("connection", (socket: net.Socket) => {
        if (!this.#accept(socket)) return;
        sniff(socket, headersTimeoutMs, (isHttp2) => {
          if (isHttp2) this.#http2.serve(h2, socket);
          else this.#http1.serve(socket, serveHttp1);
        });
      });
    }

    const onClientError = (error: Error, socket: net.Socket) => {
      const answer = () => refuse(error, socket, this.#http1.hasBegunReply(socket), this.#options.clientErrorReply);
      if (!this.#http1.takeError(error, socket, answer)) answer();
    };
    server.on("clientError", onClientError);
    server.once("listening", () => {
      // Fastify adds a listener of its own, which would destroy the socket while our reply is on its way.
      server.removeAllListeners("clientError");
      server.on("clientError", onClientError);
    });
    this.#servers.push(server);
    // Fastify calls this on close, after its preClose hooks: an application that does not drain itself gets it too.
    return Object.assign(server, { closeHttp2Sessions: () => this.beginDrain() });
  };

  /**
   * Stops listening and tells the open connections: GOAWAY on every HTTP/2 session, `Connection: close` on every further
   * HTTP/1.1 reply; idle connections are closed, and running calls may finish. Calling it again does nothing.
   */
  beginDrain(): void {
    if (this.#drainTimer) return;
    this.#drainTimer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, this.#options.drainTimeoutMs);
    // Not http.Server's own close: that would stop enforcing the timeouts, and cut replies that are being flushed.
    for (const server of this.#servers) if (server.listening) net.Server.prototype.close.call(server);
    this.#http1.drain();
    this.#http2.drain();
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    this.#settle();
  }

  /** Begins to drain if that has not happened; resolves when no connection is left, at `drainTimeoutMs` at the latest. */
  drained(): Promise<void> {
    this.beginDrain();
    return this.#drained.promise;
  }

  /** @returns false for a connection that is one too many: it has been answered */
  #accept(socket: net.Socket): boolean {
    // A peer that resets its connection is no fault of ours, in whatever state the connection is.
    socket.on("error", () => {});
    if (!this.#caps.admit(socket)) {
      const { tls, tooManyReply } = this.#options;
      if (tls || tooManyReply === undefined) socket.destroy();
      else socket.end(rawReply(tooManyReply()), () => socket.destroy());
      return false;
    }
    this.#sockets.add(socket);
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#settle();
    });
    return true;
  }

  /** Whether nothing is being worked on for a connection; also one that has not said anything. */
  #isIdle(socket: net.Socket): boolean {
    return this.#http1.isIdle(socket) ?? this.#http2.isIdle(socket) ?? true;
  }

  #settle(): void {
    if (!this.#drainTimer || this.#sockets.size > 0) return;
    clearTimeout(this.#drainTimer);
    this.#sendWatch.stop();
    this.#drained.resolve();
  }
}

/** Takes away and returns the listener by which Node's server serves HTTP/1.1 on a connection. */
function takeListener(server: http.Server, event: string): (socket: net.Socket) => void {
  const [listener] = server.listeners(event);
  if (!listener) throw new Error(`this Node.js has no ${event} listener on its HTTP server`);
  server.removeAllListeners(event);
  return listener.bind(server) as (socket: net.Socket) => void;
}
