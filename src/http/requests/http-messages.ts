// What the service uses of a request and its response. Node's messages of both versions of HTTP have it.
import type { IncomingMessage, ServerResponse } from "node:http";
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

type ResponseMembers =
  | "closed"
  | "destroyed"
  | "headersSent"
  | "statusCode"
  | "writableEnded"
  | "writableFinished"
  | "writableLength"
  | "getHeader"
  | "setHeader"
  | "addTrailers"
  | "writeHead"
  | "flushHeaders"
  | "write"
  | "end"
  | "destroy"
  | "on"
  | "off"
  | "prependOnceListener";

/** The response to a request. Over HTTP/2, its stream gets its body. */
export interface HttpResponse extends Pick<ServerResponse, ResponseMembers> {
  /** What the request and its reply make the service hold, for the port. */
  readonly exchange?: Pick<Exchange, "keep"> | undefined;
  readonly stream?: ServerHttp2Stream | undefined;
}
