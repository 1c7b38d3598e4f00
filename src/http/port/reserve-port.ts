// A start takes the port first. If that fails, nothing in the database has changed.
import { once } from "node:events";
import { Port } from "./port.ts";
import { answerStarting } from "./starting-reply.ts";

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
  /** Stops listening, unless the socket was transferred, and ends the connections from before. */
  close(): Promise<void>;
}

/** Enough for health checks and early clients. Further connections are refused until the service is up. */
const maxConnections = 256;
/** The limit for a request to arrive, and for the last replies. */
const timeoutMs = 5_000;
/** How long connections from before go on when the service is up. Draining at once would cut those with no request yet. */
const lateRequestMs = 500;

/** Listens on a port. @throws Error with one line for the operator when that fails */
export async function reservePort(
  { host, port }: PortAddress,
  tls?: { cert: string; key: string } | undefined,
): Promise<ReservedPort> {
  const starting = new Port({
    tls,
    headersTimeoutMs: timeoutMs,
    requestTimeoutMs: timeoutMs,
    idleTimeoutMs: timeoutMs,
    drainTimeoutMs: timeoutMs,
  });
  const server = starting.serverFactory(answerStarting);
  server.maxConnections = maxConnections;
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => reject(new Error(explain(error, host, port))));
    server.listen({ host, port }, resolve);
  });
  const reserved = (server.address() as { port: number }).port;
  // Node's `server.listen` accepts the handle of another server (documented as "handle").
  const owner = server as unknown as { _handle: object | null };
  let late: NodeJS.Timeout | undefined;
  const endTransferred = async () => {
    clearTimeout(late);
    await starting.drained();
    server.close();
  };
  return {
    host,
    port: reserved,
    transferSocket: () => {
      const address = { host, port: reserved, _handle: owner._handle };
      owner._handle = null;
      late = setTimeout(endTransferred, lateRequestMs).unref();
      return address;
    },
    close: async () => {
      if (owner._handle === null) return endTransferred();
      const closed = once(server, "close");
      starting.beginDrain();
      await Promise.all([closed, starting.drained()]);
    },
  };
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
