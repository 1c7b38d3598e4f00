// A start takes the port first. If that fails, nothing in the database has changed.
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import https from "node:https";
import { errorHeaders, toErrorBody } from "../../calls/error-mapping.ts";
import { StoaError } from "../../errors.ts";
import { requestIdOf } from "../requests/request-id.ts";

export interface PortAddress {
  host: string;
  /** 0 lets the system choose. */
  port: number;
}

/** A port that listens before the service is up. It answers 503 `unavailable`, and 200 at /healthz. */
export interface ReservedPort {
  readonly host: string;
  readonly port: number;
  /** Gives the listening socket away, as the options for `listen` of the real server. No connection is refused meanwhile. */
  transferSocket(): PortAddress;
  /** Stops listening, unless the socket was transferred. */
  close(): Promise<void>;
}

/** Enough for health checks and early clients. Further connections wait until the service is up. */
const maxConnections = 256;
const requestTimeoutMs = 5_000;

/** Listens on a port. @throws Error with one line for the operator when that fails */
export async function reservePort(
  { host, port }: PortAddress,
  tls?: { cert: string; key: string } | undefined,
): Promise<ReservedPort> {
  const settings = { headersTimeout: requestTimeoutMs, requestTimeout: requestTimeoutMs, keepAliveTimeout: 1 };
  const server = tls
    ? https.createServer({ ...settings, ...tls, handshakeTimeout: requestTimeoutMs }, answer)
    : http.createServer(settings, answer);
  server.maxConnections = maxConnections;
  server.on("clientError", (_error, socket) => socket.destroy());
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(new Error(explain(error, host, port))));
    server.listen({ host, port }, resolve);
  });
  const reserved = (server.address() as { port: number }).port;
  // Node's `server.listen` accepts the handle of another server (documented as "handle").
  const owner = server as unknown as { _handle: object | null };
  return {
    host,
    port: reserved,
    transferSocket: () => {
      const address = { host, port: reserved, _handle: owner._handle };
      owner._handle = null;
      server.close();
      return address;
    },
    close: async () => {
      if (owner._handle === null) return;
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}

function answer(request: IncomingMessage, response: ServerResponse): void {
  const isAlive = request.url?.split("?", 1)[0] === "/healthz";
  const starting = new StoaError("unavailable", "The service is starting.", { retryAfterSeconds: 1 });
  response.writeHead(isAlive ? 200 : 503, {
    "x-request-id": requestIdOf(request),
    "content-type": "application/json; charset=utf-8",
    "cache-control": "no-store",
    connection: "close",
    ...(isAlive ? {} : errorHeaders(starting)),
  });
  response.end(isAlive ? '{"ok":true}' : toErrorBody(starting));
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
