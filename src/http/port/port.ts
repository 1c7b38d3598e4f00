// One listening port for HTTP/1.1 and HTTP/2. With TLS, ALPN decides between them. Without TLS, the first bytes of a
// connection decide; Node has nothing for that. The servers of Node that speak the protocols do not listen: they are given
// connections, as Node documents it for their event `connection`.

import http from "node:http";
import http2 from "node:http2";
import net from "node:net";
import tls, { type TLSSocket } from "node:tls";
import { TurnScheduler } from "../../timing/turn-scheduler.ts";
import type { Connection, PortHandlers, SharedByConnections } from "./connection.ts";
import { ConnectionCaps, type ConnectionLimits } from "./connection-caps.ts";
import { connectionOf, Http1Connection, Http1Response } from "./http1.ts";
import { clientResets, Http2Connection, Http2Response, MAX_WIDE, NARROW, proxyResets, WIDE } from "./http2.ts";
import { MemoryBudget } from "./memory-budget.ts";
import { noTunnel, rawReply, refuseFields } from "./refusals.ts";
import { sniff } from "./sniff.ts";

/** The settings of a port. All times are in milliseconds. */
export interface PortOptions {
  /** Certificate chain and private key (PEM). With them the port speaks TLS only. */
  tls?: { cert: string | Buffer; key: string | Buffer } | undefined;
  /** The limit for the TLS handshake, and for a whole request head from its first byte on. */
  headersTimeoutMs: number;
  /** The limit for a whole request to arrive, including its body. */
  requestTimeoutMs: number;
  /** The limit without a request, also before the first one: Go's clients keep connections that they have not used yet. */
  idleTimeoutMs: number;
  /** The limit for a reply without progress; none by default. */
  sendTimeoutMs?: number | undefined;
  /** The limit after `beginDrain()`. Connections that are still open then are destroyed. */
  drainTimeoutMs: number;
  /** What a connection may make the service hold: requests, their bodies and unsent replies, in bytes; no limit by default. */
  maxHeldPerConnection?: number | undefined;
  /** The same for all connections together. */
  maxHeld?: number | undefined;
  /** The maximum numbers of connections; no limits by default. */
  connections?: ConnectionLimits | undefined;
}

/** How many fields the head of an HTTP/1.1 request may have: as many as Node allows over HTTP/2. */
const MAX_FIELDS = 128;
/** When TCP keep-alive begins on a silent connection, in milliseconds. It finds dead peers, such as followers of receipts. */
const TCP_KEEP_ALIVE_MS = 60_000;
/** How often time limits are checked, in milliseconds; more often where they are short. */
const CHECK_MS = 1000;
/** How many requests begin, or slices of 4 KiB are parsed, in one turn of the event loop, over all connections. */
const PORTIONS_A_TURN = 32;

/** A listening port for both versions of HTTP. */
export class Port {
  readonly #options: PortOptions;
  readonly #listener: net.Server;
  readonly #http1: http.Server;
  readonly #http2: { wide: http2.Http2Server; narrow: http2.Http2Server; proxied: http2.Http2Server };
  readonly #shared: SharedByConnections;
  /** The TCP sockets of all connections, and what is known of those that have shown their protocol. */
  readonly #connections = new Map<net.Socket, Connection | undefined>();
  readonly #bySession = new WeakMap<object, Http2Connection>();
  readonly #caps: ConnectionCaps;
  readonly #timer: NodeJS.Timeout;
  readonly #drained = Promise.withResolvers<void>();
  #drainTimer: NodeJS.Timeout | undefined;

  constructor(options: PortOptions, handlers: PortHandlers) {
    this.#options = options;
    this.#shared = {
      times: { ...options, sendTimeoutMs: options.sendTimeoutMs ?? Number.POSITIVE_INFINITY },
      maxHeld: options.maxHeldPerConnection ?? Number.POSITIVE_INFINITY,
      budget: new MemoryBudget(options.maxHeld ?? Number.POSITIVE_INFINITY),
      turns: new TurnScheduler(PORTIONS_A_TURN),
      handlers,
    };
    this.#caps = new ConnectionCaps(options.connections, (socket) => this.#connections.get(socket)?.isIdle ?? true);
    this.#http1 = this.#createHttp1Server();
    this.#http2 = {
      wide: this.#createHttp2Server(WIDE, clientResets),
      narrow: this.#createHttp2Server(NARROW, clientResets),
      proxied: this.#createHttp2Server(WIDE, proxyResets),
    };
    this.#listener = this.#createListener();
    const { headersTimeoutMs, requestTimeoutMs, idleTimeoutMs, sendTimeoutMs = CHECK_MS } = options;
    const shortest = Math.min(headersTimeoutMs, requestTimeoutMs, idleTimeoutMs, sendTimeoutMs);
    this.#timer = setInterval(() => this.#check(), Math.min(CHECK_MS, Math.ceil(shortest / 4))).unref();
  }

  /** The number of open connections, and of the HTTP/2 sessions among them. */
  get connections(): { total: number; http2: number } {
    const all = [...this.#connections.values()];
    return { total: all.length, http2: all.filter((each) => each instanceof Http2Connection).length };
  }

  /**
   * Begins to listen.
   * @param port 0 lets the system choose
   * @returns the port
   * @throws Error with one line for the operator if the port cannot be opened
   */
  async listen({ host, port }: { host: string; port: number }): Promise<number> {
    await new Promise<void>((resolve, reject) => {
      this.#listener.once("error", (error: NodeJS.ErrnoException) => reject(new Error(explain(error, host, port))));
      // As many as Linux lets wait by default. One more waits a second, or longer than its proxy does.
      this.#listener.listen({ host, port, backlog: 4_096 }, resolve);
    });
    return (this.#listener.address() as net.AddressInfo).port;
  }

  /** Serves all further requests by these, also those of connections from before. */
  serve(handlers: PortHandlers): void {
    this.#shared.handlers = handlers;
  }

  /**
   * Stops listening and tells the open connections: GOAWAY on every HTTP/2 session, `Connection: close` on every further
   * HTTP/1.1 reply; idle connections are closed, and running calls may finish. Calling it again does nothing.
   */
  beginDrain(): void {
    if (this.#drainTimer) return;
    this.#drainTimer = setTimeout(() => {
      for (const socket of this.#connections.keys()) socket.destroy();
    }, this.#options.drainTimeoutMs);
    if (this.#listener.listening) this.#listener.close();
    for (const [socket, connection] of this.#connections) {
      if (connection !== undefined) connection.drain();
      else if (socket.bytesRead === 0) socket.destroy();
    }
    this.#settle();
  }

  /** Begins the drain if necessary. Resolves when no connection is left, after `drainTimeoutMs` at the latest. */
  drained(): Promise<void> {
    this.beginDrain();
    return this.#drained.promise;
  }

  #createHttp1Server(): http.Server {
    const settings: http.ServerOptions = {
      ServerResponse: Http1Response as typeof http.ServerResponse,
      keepAliveTimeout: this.#options.idleTimeoutMs,
      // Offers of h2c or WebSocket are ignored. The request is served as it is.
      shouldUpgradeCallback: () => false,
      // Node would answer without a body. The application answers such a request like every other bad request.
      requireHostHeader: false,
    };
    const onRequest = (request: http.IncomingMessage, response: Http1Response) => {
      if (request.rawHeaders.length > MAX_FIELDS * 2) refuseFields(response, this.#shared.handlers.refuse);
      else connectionOf(request.socket)?.take(request, response);
    };
    const server = http.createServer(settings, onRequest as never);
    // An expectation other than 100-continue may be ignored (RFC 9110, section 10.1.1), so the request is served.
    server.on("checkExpectation", onRequest as never);
    // Node drops the fields beyond this number. One more than allowed is kept, to notice that a request has too many.
    server.maxHeadersCount = MAX_FIELDS + 1;
    server.on("clientError", (error, socket) => {
      const connection = connectionOf(socket);
      if (connection === undefined) socket.destroy();
      else connection.takeError(error);
    });
    // Node would close the connection without a reply.
    server.on("connect", (_request, socket) => connectionOf(socket)?.takeError(noTunnel));
    return server;
  }

  #createHttp2Server(maxConcurrentStreams: number, resets: http2.ServerOptions): http2.Http2Server {
    const settings = { ...resets, settings: { maxConcurrentStreams }, Http2ServerResponse: Http2Response };
    const onRequest = (request: http2.Http2ServerRequest, response: Http2Response) => {
      const { session } = request.stream;
      request.url ??= "/"; // CONNECT names no path
      if (session !== undefined) this.#bySession.get(session)?.take(request, response);
    };
    const goOn = (request: http2.Http2ServerRequest, response: Http2Response) => {
      const { closed, destroyed } = response.stream;
      if (!closed && !destroyed) response.writeContinue();
      onRequest(request, response);
    };
    const server = http2.createServer(settings as never, onRequest as never);
    // Node would answer these requests by itself: with nothing but a status, or, if the client has reset its stream already,
    // with an exception that ends the process.
    const events = { checkContinue: goOn, checkExpectation: onRequest, connect: onRequest };
    for (const [event, listener] of Object.entries(events)) server.on(event, listener as never);
    return server;
  }

  #createListener(): net.Server {
    const { tls: certificate, headersTimeoutMs: handshakeTimeout } = this.#options;
    const settings = { allowHalfOpen: true, noDelay: true, keepAlive: true, keepAliveInitialDelay: TCP_KEEP_ALIVE_MS };
    if (certificate === undefined) {
      return net.createServer(settings, (socket) => {
        if (!this.#accept(socket)) return;
        sniff(socket, this.#shared.times, (isHttp2) => this.#serve(socket, socket, isHttp2));
      });
    }
    // The connections in a TLS handshake, by the addresses of their peers: Node does not tell which socket is below TLS.
    const shaking = new Map<string, net.Socket>();
    const secure = tls.createServer({ ...certificate, ALPNProtocols: ["h2", "http/1.1"], handshakeTimeout });
    secure.on("tlsClientError", (_error, socket) => socket.destroy());
    secure.on("secureConnection", (socket: TLSSocket) => {
      const transport = shaking.get(peerOf(socket));
      if (transport === undefined)
        socket.destroy(); // the client has gone already
      else this.#serve(socket, transport, socket.alpnProtocol === "h2");
    });
    return net.createServer(settings, (socket) => {
      if (!this.#accept(socket)) return;
      const peer = peerOf(socket);
      shaking.set(peer, socket);
      socket.once("close", () => {
        if (shaking.get(peer) === socket) shaking.delete(peer);
      });
      secure.emit("connection", socket);
    });
  }

  /** @returns false for a connection that has ended or is over the limit, which is answered and closed here */
  #accept(socket: net.Socket): boolean {
    // A reset by the peer is never a server error.
    socket.on("error", () => {});
    // A peer that has left already has no address. Nobody would be charged for what it has sent.
    if (socket.remoteAddress === undefined) socket.destroy();
    else if (this.#caps.admit(socket)) {
      this.#connections.set(socket, undefined);
      socket.once("close", () => {
        this.#connections.delete(socket);
        this.#settle();
      });
      return true;
    } else if (this.#options.tls) socket.destroy();
    else socket.end(rawReply(this.#shared.handlers.refuse(429, socket)), () => socket.destroy());
    return false;
  }

  /** Serves a connection that has shown its protocol. @param socket what carries HTTP: TLS, or the TCP socket itself */
  #serve(socket: net.Socket, transport: net.Socket, isHttp2: boolean): void {
    if (transport.destroyed) return;
    const connection = isHttp2 ? this.#beginHttp2(socket, transport) : this.#beginHttp1(socket, transport);
    this.#connections.set(transport, connection);
    if (this.#drainTimer !== undefined) connection.drain();
  }

  #beginHttp1(socket: net.Socket, transport: net.Socket): Http1Connection {
    const connection = new Http1Connection(socket, transport, this.#shared);
    this.#http1.emit("connection", connection.socket);
    return connection;
  }

  #beginHttp2(socket: net.Socket, transport: net.Socket): Http2Connection {
    // The session would outlive a peer that has left.
    socket.allowHalfOpen = false;
    const sessions: http2.ServerHttp2Session[] = [];
    const { wide, narrow, proxied } = this.#http2;
    const isProxy = this.#options.connections?.isProxy(transport.remoteAddress ?? "") === true;
    const server = isProxy ? proxied : this.connections.http2 < MAX_WIDE ? wide : narrow;
    server.once("session", (session) => sessions.push(session)); // emitted before `emit` returns
    server.emit("connection", socket);
    const [session] = sessions;
    if (session === undefined) throw new Error("this Node.js begins no HTTP/2 session on a connection");
    const connection = new Http2Connection(session, transport, this.#shared);
    this.#bySession.set(session, connection);
    return connection;
  }

  #check(): void {
    const now = performance.now();
    for (const connection of this.#connections.values()) connection?.check(now);
  }

  #settle(): void {
    if (!this.#drainTimer || this.#connections.size > 0) return;
    clearTimeout(this.#drainTimer);
    clearInterval(this.#timer);
    this.#drained.resolve();
  }
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
