// What the service uses of a request and its response. Node's messages of both versions of HTTP have it.
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { Exchange } from "../port/exchange.ts";

type RequestFields =
  | "aborted"
  | "complete"
  | "headers"
  | "httpVersion"
  | "httpVersionMajor"
  | "method"
  | "rawHeaders"
  | "resume"
  | "url";

/** A request. Over HTTP/2, its stream has its body. */
export interface HttpRequest extends Readonly<Pick<IncomingMessage, RequestFields>> {
  readonly stream?: ServerHttp2Stream | undefined;
  /** Missing from some requests whose client has disconnected. */
  readonly socket: Socket | null | undefined;
}

type ResponseFields = "closed" | "destroyed" | "headersSent" | "writableEnded" | "writableFinished" | "writableLength";

/** The response to a request. Over HTTP/2, its stream gets its body. */
export interface HttpResponse extends Readonly<Pick<ServerResponse, ResponseFields>> {
  /** What the request and its reply make the service hold, for the port. */
  readonly exchange?: Pick<Exchange, "keepBody" | "becomeStream"> | undefined;
  readonly stream?: ServerHttp2Stream | undefined;
  statusCode: number;
  /** The header fields that were set before the head is written. */
  getHeaders(): OutgoingHttpHeaders;
  getHeader(name: string): OutgoingHttpHeaders[string];
  setHeader(name: string, value: string): unknown;
  /** To be called before the head is written. */
  addTrailers(fields: Record<string, string>): void;
  writeHead(status: number, fields: Record<string, string>): unknown;
  /** Sends the head before there is a body. */
  flushHeaders(): void;
  write(chunk: Uint8Array | string): boolean;
  end(chunk?: Uint8Array): unknown;
  destroy(): unknown;
  on(event: "drain" | "close", listener: () => void): this;
  off(event: "drain" | "close", listener: () => void): this;
  prependOnceListener(event: "close", listener: () => void): unknown;
}
