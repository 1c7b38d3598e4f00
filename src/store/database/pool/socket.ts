import { connect, isIP, type Socket } from "node:net";

/** Where the database is, and the account. */
export interface DatabaseAddress {
  host?: string;
  port?: number;
  socketPath?: string;
  user: string;
  password?: string;
  database?: string;
  /** PEM texts. The server's certificate and its name are always verified. */
  ssl?: { ca?: string; cert?: string; key?: string; rejectUnauthorized: true; verifyIdentity: true };
  /** Whether reads wait, on a cluster, for what its other servers have acknowledged; by default they do. */
  syncReads?: boolean;
}

/**
 * Opens the socket of a connection. mysql2 ends a connection by half-closing its socket, and then waits for the server, which
 * may be frozen. So whoever opens a connection keeps the socket, and destroys it.
 */
export function openSocket({ socketPath, host = "localhost", port = 3306 }: DatabaseAddress): Socket {
  const socket =
    socketPath === undefined ? connect({ host, port, noDelay: true, keepAlive: true }) : connect(socketPath);
  // With an IP address as the host, mysql2 gives Node.js no name, which then compares the certificate with "localhost". It
  // reads the name from here, which is not documented. If that changes, no such connection can be made.
  if (isIP(host) !== 0) Object.assign(socket, { _host: host });
  return socket;
}
