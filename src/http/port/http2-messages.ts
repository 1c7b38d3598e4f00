// The request and the response of an HTTP/2 stream. Node's own are two more streams with fifteen listeners for each request.
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import type { Socket } from "node:net";
import type { HttpRequest, HttpResponse } from "../../calls/http-messages.ts";
import { type PortStream, sendTrailers } from "./http2-stream.ts";

export class Http2Request implements HttpRequest {
  readonly stream: ServerHttp2Stream;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: string[];

  constructor(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: string[]) {
    this.stream = stream;
    this.headers = headers;
    this.rawHeaders = rawHeaders;
  }

  get method(): string {
    return this.headers[":method"] as string;
  }

  get url(): string {
    return this.headers[":path"] as string;
  }

  get httpVersion(): string {
    return "2.0";
  }

  get httpVersionMajor(): number {
    return 2;
  }

  get aborted(): boolean {
    return this.stream.aborted;
  }

  get complete(): boolean {
    return this.stream.readableEnded || this.stream.destroyed;
  }

  /** The socket, as far as Node lets a session's socket be used. */
  get socket(): Socket | undefined {
    return this.stream.session?.socket;
  }
}

const noFields: OutgoingHttpHeaders = Object.freeze({});

export class Http2Response implements HttpResponse {
  readonly stream: ServerHttp2Stream;
  statusCode = 200;
  readonly #open: PortStream;
  #fields: OutgoingHttpHeaders = noFields;

  constructor(open: PortStream) {
    this.stream = open.stream;
    this.#open = open;
  }

  get headersSent(): boolean {
    return this.stream.headersSent;
  }

  get writableFinished(): boolean {
    return this.stream.writableFinished;
  }

  get writableLength(): number {
    return this.stream.writableLength;
  }

  get closed(): boolean {
    return this.stream.closed;
  }

  get destroyed(): boolean {
    return this.stream.destroyed;
  }

  getHeaders(): OutgoingHttpHeaders {
    return this.#fields;
  }

  /** Of the fields that were set, and of those that were sent. */
  getHeader(name: string): OutgoingHttpHeaders[string] {
    return this.stream.sentHeaders?.[name] ?? this.#fields[name];
  }

  setHeader(name: string, value: string): void {
    this.#fields = { ...this.#fields, [name]: value };
  }

  addTrailers(fields: Record<string, string>): void {
    if (this.#open.trailers === undefined) this.stream.on("wantTrailers", sendTrailers);
    this.#open.trailers = fields;
  }

  /**
   * @param fields names in lower case, without those that are about the connection (RFC 9113, section 8.2.2). The object
   * must not be used again
   */
  writeHead(status: number, fields: Record<string, string | number>): void {
    this.statusCode = status;
    fields[":status"] = status;
    // Otherwise the last frame of the body ends the stream, and if the request has been read, Node destroys it before it
    // reports that the response is written. A sent response would look like one whose client has left.
    this.stream.respond(fields, { waitForTrailers: true });
  }

  write(chunk: Uint8Array): boolean {
    return this.stream.write(chunk);
  }

  end(chunk?: Uint8Array): void {
    // The port counts what `write` gets.
    if (chunk !== undefined) this.stream.write(chunk);
    this.stream.end();
  }

  destroy(): void {
    this.stream.destroy();
  }

  /** Takes one listener only. */
  prependOnceListener(_event: "close", listener: () => void): void {
    this.#open.onEnd = listener;
  }
}
