import { type ServerResponse, STATUS_CODES } from "node:http";
import type { Http1Socket } from "./http1-socket.ts";

/** A reply to a connection that has no request. Its body is JSON. */
interface RawReply {
  status: number;
  body: string;
  headers?: Record<string, string>;
}

/**
 * Makes the reply to a connection that is refused before it has a request.
 * @param status 429 for a connection over the limit; 408 for a request that is late; 400, 413 or 431 for one that is not parsed
 */
export type Refuse = (status: number, peer: { readonly remoteAddress?: string | undefined }) => RawReply;

/** An error of Node's HTTP server. */
export interface ParserError extends Error {
  code?: string;
}

const LATE = "ERR_HTTP_REQUEST_TIMEOUT";
/** The error of a request that does not arrive in time. */
export const lateRequest: ParserError = Object.assign(new Error("the request is late"), { code: LATE });

/** The error of a request for a tunnel, which an origin server does not make. */
export const noTunnel: ParserError = Object.assign(new Error("no tunnel is made"), { code: "HPE_INVALID_METHOD" });

const STATUS_OF_CODE: Record<string, number> = {
  [LATE]: 408,
  HPE_CHUNK_EXTENSIONS_OVERFLOW: 413,
  HPE_HEADER_OVERFLOW: 431,
};

/**
 * Answers an HTTP/1.1 request that cannot be parsed or did not arrive in time, and closes the connection. Writes nothing
 * if a reply `hasBegun`, or if the connection failed for another reason, such as a reset.
 */
export function refuse(error: ParserError, socket: Http1Socket, hasBegun: boolean, makeReply: Refuse): void {
  if (socket.writableEnded && !socket.destroyed) return; // refused before, and still sending
  if (!isRequestFault(error) || !socket.writable || hasBegun) socket.destroy();
  else socket.end(rawReply(makeReply(STATUS_OF_CODE[error.code ?? ""] ?? 400, socket)));
}

/** Whether an error of Node's HTTP server is the fault of a request, and not of its connection. */
export function isRequestFault({ code = "" }: ParserError): boolean {
  return code.startsWith("HPE_") || code === LATE;
}

/** Answers an HTTP/1.1 request with too many header fields, which the parser accepts. Closes the connection. */
export function refuseFields(response: ServerResponse, makeReply: Refuse): void {
  const reply = makeReply(431, response.req.socket);
  response.writeHead(reply.status, lastFields(reply)).end(reply.body);
}

/** Writes out an HTTP/1.1 reply that ends its connection. */
export function rawReply(reply: RawReply): string {
  const { status, body } = reply;
  const head = { Date: new Date().toUTCString(), ...lastFields(reply) };
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ""}\r\n${lines.join("")}\r\n${body}`;
}

/** The header fields of a reply that ends its connection. */
function lastFields({ body, headers }: RawReply): Record<string, string | number> {
  return {
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    Connection: "close",
    ...headers,
  };
}
