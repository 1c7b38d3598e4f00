import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Socket } from "node:net";

/** A reply to a connection that has no request. Its body is JSON. */
export interface RawReply {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

/**
 * Makes the reply to a connection that is refused before it has a request.
 * @param status 429 for a connection over the limit; 400, 408, 413 or 431 for a request that cannot be parsed
 */
export type Refuse = (status: number, socket: Socket) => RawReply;

/** How long a refused client may go on sending. Closing with unread bytes would reset the connection and lose the reply. */
const LINGER_MS = 1000;

const STATUS_OF_CODE: Record<string, number> = {
  ERR_HTTP_REQUEST_TIMEOUT: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/** The reply of a port without another. */
export const plainReply: Refuse = (status) => ({
  status,
  body: JSON.stringify({ message: STATUS_CODES[status] }),
});

/**
 * Answers an HTTP/1.1 request that cannot be parsed or did not arrive in time, and closes the connection. Writes nothing
 * if a reply `hasBegun`, or if the connection failed for another reason (a reset, a TLS handshake).
 */
export function refuse(error: Error & { code?: string }, socket: Socket, hasBegun: boolean, makeReply: Refuse): void {
  const code = error.code ?? "";
  const isRequestFault = code.startsWith("HPE_") || code === "ERR_HTTP_REQUEST_TIMEOUT";
  if (socket.writableEnded && !socket.destroyed) return; // refused before, and still sending
  if (!isRequestFault || !socket.writable || hasBegun) {
    socket.destroy();
    return;
  }
  socket.end(rawReply(makeReply(STATUS_OF_CODE[code] ?? 400, socket)));
  const timer = setTimeout(() => socket.destroy(), LINGER_MS);
  socket.once("close", () => clearTimeout(timer));
}

/** Answers an HTTP/1.1 request that the parser accepted, as `refuse` answers one that it did not. Closes the connection. */
export function refuseRequest(error: Error & { code: string }, response: ServerResponse, makeReply: Refuse): void {
  const { status, body, headers } = makeReply(STATUS_OF_CODE[error.code] ?? 400, response.req.socket);
  response.shouldKeepAlive = false;
  const fields = {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    ...headers,
  };
  response.writeHead(status, fields).end(body);
}

/** Writes out an HTTP/1.1 reply that ends its connection. */
export function rawReply({ status, body, headers }: RawReply): string {
  const head = {
    Date: new Date().toUTCString(),
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
    ...headers,
  };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`;
}
