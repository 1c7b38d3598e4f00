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
  /** Whether, on a cluster, statements wait for what the other servers have acknowledged; by default they do. */
  syncReads?: boolean;
}

/**
 * Opens the socket of a connection. Whoever opens a connection must destroy its socket: mysql2 only half-closes it, and then
 * waits for the server, which may be frozen.
 */
export function openSocket({ socketPath, host = "localhost", port = 3306 }: DatabaseAddress): Socket {
  const socket =
    socketPath === undefined ? connect({ host, port, noDelay: true, keepAlive: true }) : connect(socketPath);
  // If the host is an IP address, mysql2 gives Node.js no name to compare with the certificate. Node.js then takes it from
  // `_host`, which is not documented, or else "localhost". If Node.js changes this, TLS to an IP address fails.
  if (isIP(host) !== 0) Object.assign(socket, { _host: host });
  return socket;
}
