// One listening port for HTTP/1.1 and HTTP/2. With TLS, ALPN decides between them. Without TLS, the first bytes of a
// connection decide; Node has nothing for that. The listening server is always an http.Server, because Node enforces header
// and request timeouts only there. HTTP/2 connections go to an http2.Server that never listens.

import http from "node:http";
import https from "node:https";
import net from "node:net";
import type { TLSSocket } from "node:tls";
import { BodyBudget, type BodyLimits } from "./body-budget.ts";
import { plainReply, type Refuse, rawReply, refuse, refuseRequest } from "./client-error.ts";
import { ConnectionCaps, type ConnectionLimits } from "./connection-caps.ts";
import { HeldMemory } from "./held-memory.ts";
import { Http1Connections } from "./http1.ts";
import { Http2Sessions } from "./http2.ts";
import { type BudgetedConnection, IdleBudget } from "./idle-budget.ts";
import { InterceptedRequest } from "./intercept-push.ts";
import type { Handler } from "./request-handlers.ts";
import { type SendLimits, SendWatch } from "./send-watch.ts";
import { sniff } from "./sniff.ts";
import { cutSocket, noteTls } from "./transport.ts";

/** The settings of a port. All times are in milliseconds. */
export interface PortOptions {
  /** Certificate chain and private key (PEM). With them the port speaks TLS only. */
  tls?: { cert: string | Buffer; key: string | Buffer } | undefined;
  /** The limit for each step up to a request: the first bytes or the TLS handshake, then a whole request head. */
  headersTimeoutMs: number;
  /** The limit for a whole request to arrive, including its body. */
  requestTimeoutMs: number;
  /** The limit between requests: for a kept-alive HTTP/1.1 connection, or an HTTP/2 session without open streams. */
  idleTimeoutMs: number;
  /** The limit after `beginDrain()`. Connections that are still open then are destroyed. */
  drainTimeoutMs: number;
  /** Limits for replies that clients do not read; no limits by default. */
  sending?: SendLimits | undefined;
  /** Limits for incomplete request bodies. */
  bodies?: BodyLimits | undefined;
  /** The maximum numbers of connections; no limits by default. */
  connections?: ConnectionLimits | undefined;
}

/** What serves the requests of a port. It may be replaced while the port listens. */
export interface PortHandlers {
  handle: Handler;
  /** Makes the replies to connections that are refused before they have a request; plain ones by default. */
  refuse?: Refuse | undefined;
}

const unbounded: SendLimits = {
  sendTimeoutMs: Number.POSITIVE_INFINITY,
  maxUnsentPerConnection: Number.POSITIVE_INFINITY,
  maxUnsent: Number.POSITIVE_INFINITY,
};
/**
 * Idle connections, bodies and unsent replies together may hold as much as unsent replies alone, in bytes, or this if it is
 * more.
 */
const MIN_HELD = 32 * 1024 * 1024;
/** How many fields the head of an HTTP/1.1 request may have: as many as Node allows over HTTP/2. */
const MAX_FIELDS = 128;
/** The memory of a connection that has not shown its protocol, in bytes. */
const UNKNOWN_BYTES = 4 * 1024;
/** The memory that TLS takes for a connection, in bytes, from the beginning of its handshake. */
const TLS_BYTES = 56 * 1024;
/** When TCP keep-alive begins on a silent connection, in milliseconds. It finds dead peers, such as followers of receipts. */
const TCP_KEEP_ALIVE_MS = 60_000;

/** A listening port for both versions of HTTP. */
export class Port {
  readonly #options: PortOptions;
  readonly #server: http.Server;
  #handlers: PortHandlers;
  readonly #sockets = new Set<net.Socket>();
  /** The connections whose protocol is not known yet. */
  readonly #unknown = new Map<net.Socket, BudgetedConnection>();
  readonly #caps: ConnectionCaps;
  readonly #sendWatch: SendWatch;
  readonly #http1: Http1Connections;
  readonly #http2: Http2Sessions;
  readonly #idleBudget: IdleBudget;
  readonly #drained = Promise.withResolvers<void>();
  #drainTimer: NodeJS.Timeout | undefined;

  constructor(options: PortOptions, handlers: PortHandlers) {
    this.#options = options;
    this.#handlers = handlers;
    this.#caps = new ConnectionCaps(options.connections, (socket) => this.#isIdle(socket));
    const sending = options.sending ?? unbounded;
    const memory = new HeldMemory(Math.max(sending.maxUnsent, MIN_HELD));
    this.#sendWatch = new SendWatch(sending, memory);
    const bodies = new BodyBudget(memory, options.bodies);
    this.#http1 = new Http1Connections(this.#sendWatch, bodies, options);
    this.#http2 = new Http2Sessions(options, this.#sendWatch, bodies);
    this.#idleBudget = new IdleBudget(
      () => [...this.#unknown.values(), ...this.#http1.all(), ...this.#http2.all()],
      memory,
      options.tls ? TLS_BYTES : 0,
    );
    this.#server = this.#createServer();
  }

  /** The number of open connections, and of the HTTP/2 sessions among them. */
  get connections(): { total: number; http2: number } {
    return { total: this.#sockets.size, http2: this.#http2.size };
  }

  /**
   * Begins to listen.
   * @param port 0 lets the system choose
   * @returns the port
   * @throws Error with one line for the operator
   */
  async listen({ host, port }: { host: string; port: number }): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once("error", (error: NodeJS.ErrnoException) => reject(new Error(explain(error, host, port))));
      this.#server.listen({ host, port }, resolve);
    });
    return (this.#server.address() as net.AddressInfo).port;
  }

  /** Serves all further requests by these, also those of connections from before. */
  serve(handlers: PortHandlers): void {
    this.#handlers = handlers;
  }

  #createServer(): http.Server {
    const handle: Handler = (request, response) => this.#handlers.handle(request, response);
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
      // Offers of h2c or WebSocket are ignored, even if something listens for `upgrade`. The request is served as it is.
      shouldUpgradeCallback: () => false,
      // Node would answer without a body. The application answers such a request like every other bad request.
      requireHostHeader: false,
    };
    const onRequest: Handler = (request, response) => {
      this.#http1.take(request, response, hasTooManyFields(request) ? this.#refuseFields : handle);
    };
    const h2 = this.#http2.createServer(handle);
    const server = tls
      ? (https.createServer(
          { ...settings, ...tls, ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout: headersTimeoutMs },
          onRequest,
        ) as unknown as http.Server)
      : http.createServer(settings, onRequest);

    // An expectation other than 100-continue may be ignored (RFC 9110, section 10.1.1), so the request is served.
    server.on("checkExpectation", onRequest);
    // Node drops further fields. One more is kept, which tells that the request has too many.
    server.maxHeadersCount = MAX_FIELDS + 1;

    const serveHttp1 = takeListener(server, tls ? "secureConnection" : "connection");
    if (tls) {
      const shakeHands = takeListener(server, "connection");
      // The connections that shake hands, by the addresses of their peers: Node does not say which socket TLS is over.
      const shaking = new Map<string, net.Socket>();
      server.on("connection", (socket: net.Socket) => {
        if (!this.#accept(socket)) return;
        const peer = peerOf(socket);
        shaking.set(peer, socket);
        socket.once("close", () => {
          if (shaking.get(peer) === socket) shaking.delete(peer);
        });
        shakeHands(socket);
      });
      server.on("secureConnection", (socket: TLSSocket) => {
        const transport = shaking.get(peerOf(socket));
        if (transport === undefined) {
          // The client has gone already.
          socket.destroy();
          return;
        }
        shaking.delete(peerOf(socket));
        noteTls(socket, transport);
        const known = () => this.#unknown.delete(transport);
        if (socket.alpnProtocol === "h2") this.#http2.serve(h2, socket, known);
        else {
          known();
          this.#http1.serve(socket, serveHttp1);
        }
      });
    } else {
      server.on("connection", (socket: net.Socket) => {
        if (!this.#accept(socket)) return;
        sniff(socket, headersTimeoutMs, (isHttp2) => {
          const known = () => this.#unknown.delete(socket);
          if (isHttp2) this.#http2.serve(h2, socket, known);
          else {
            known();
            this.#http1.serve(socket, serveHttp1);
          }
        });
      });
    }

    server.on("clientError", (error: Error, socket: net.Socket) => {
      const answer = () => refuse(error, socket, this.#http1.hasBegunReply(socket), this.#refuse);
      if (!this.#http1.takeError(error, socket, answer)) answer();
    });
    return server;
  }

  /**
   * Stops listening and tells the open connections: GOAWAY on every HTTP/2 session, `Connection: close` on every further
   * HTTP/1.1 reply; idle connections are closed, and running calls may finish. Calling it again does nothing.
   */
  beginDrain(): void {
    if (this.#drainTimer) return;
    this.#drainTimer = setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy();
    }, this.#options.drainTimeoutMs);
    // http.Server's own close would stop the timeouts and cut replies that are being flushed.
    if (this.#server.listening) net.Server.prototype.close.call(this.#server);
    this.#http1.drain();
    this.#http2.drain();
    for (const socket of this.#sockets) if (socket.bytesRead === 0) socket.destroy();
    this.#settle();
  }

  /** Begins the drain if necessary. Resolves when no connection is left, after `drainTimeoutMs` at the latest. */
  drained(): Promise<void> {
    this.beginDrain();
    return this.#drained.promise;
  }

  get #refuse(): Refuse {
    return this.#handlers.refuse ?? plainReply;
  }

  readonly #refuseFields: Handler = (_request, response) => {
    const error = Object.assign(new Error("the request has too many header fields"), { code: "HPE_HEADER_OVERFLOW" });
    refuseRequest(error, response, this.#refuse);
  };

  /** @returns false for a connection over the limit, which is answered and closed here */
  #accept(socket: net.Socket): boolean {
    // A reset by the peer is never a server error.
    socket.on("error", () => {});
    if (!this.#caps.admit(socket)) {
      if (this.#options.tls) socket.destroy();
      else socket.end(rawReply(this.#refuse(429, socket)), () => socket.destroy());
      return false;
    }
    this.#sockets.add(socket);
    this.#unknown.set(socket, {
      idleBytes: () => UNKNOWN_BYTES + socket.readableLength,
      endIdle: () => cutSocket(socket),
    });
    this.#idleBudget.count();
    socket.once("close", () => {
      this.#sockets.delete(socket);
      this.#unknown.delete(socket);
      this.#settle();
    });
    return true;
  }

  /** Whether a connection has no running request. A connection that has sent nothing is idle, too. */
  #isIdle(socket: net.Socket): boolean {
    return this.#http1.isIdle(socket) ?? this.#http2.isIdle(socket) ?? true;
  }

  #settle(): void {
    if (!this.#drainTimer || this.#sockets.size > 0) return;
    clearTimeout(this.#drainTimer);
    this.#sendWatch.stop();
    this.#idleBudget.stop();
    this.#drained.resolve();
  }
}

function hasTooManyFields({ rawHeaders }: http.IncomingMessage): boolean {
  return rawHeaders.length > MAX_FIELDS * 2;
}

/** Removes and returns the listener with which Node's server serves HTTP/1.1 on a connection. */
function takeListener(server: http.Server, event: string): (socket: net.Socket) => void {
  const [listener] = server.listeners(event);
  if (!listener) throw new Error(`this Node.js has no ${event} listener on its HTTP server`);
  server.removeAllListeners(event);
  return listener.bind(server) as (socket: net.Socket) => void;
}

/** The address and port of a connection's peer, which no other open connection to this port has. */
function peerOf({ remoteAddress, remotePort }: net.Socket): string {
  return `${remoteAddress} ${remotePort}`;
}

function explain(error: NodeJS.ErrnoException, host: string, port: number): string {
  const where = `port ${port} of ${host}`;
  if (error.code === "EADDRINUSE") return `${where} is in use by another program; stop it or set STOA_PORT`;
  if (error.code === "EACCES") return `${where} may not be opened by this account; set STOA_PORT to 1024 or higher`;
  if (error.code === "EADDRNOTAVAIL" || error.code === "ENOTFOUND") {
    return `${host} is not an address of this machine; set STOA_HOST`;
  }
  return `${where} cannot be opened (${error.message})`;
}
