// Unary calls of the Connect protocol: https://connectrpc.com/docs/protocol#unary-request
import type { Message } from "@bufbuild/protobuf";
import { base64Decode } from "@bufbuild/protobuf/wire";
import { Code, ConnectError } from "@connectrpc/connect";
import { Access } from "../../../../gen/stoa/v1/options_pb.js";
import type { Reply } from "../../../calls/unary-call.ts";
import { rulesOf } from "../../../contract/rules.ts";
import { connect, mergeNonProtocolHeaders } from "../connect-protocol.ts";
import { messageTooLarge } from "./envelopes.ts";
import {
  type EncodedMessage,
  type ExchangeArguments,
  type Negotiated,
  noTimeout,
  type Timeout,
  UnaryExchange,
} from "./exchange.ts";

export class ConnectExchange extends UnaryExchange {
  readonly timeout: Timeout;
  protected readonly compression: Negotiated;
  /** Set with the encoded message: whether it is compressed. */
  #isCompressed = false;

  constructor(...args: ExchangeArguments) {
    super(...args);
    const { headers } = this.context.request;
    const { query } = this.format;
    const timeout = headers["connect-timeout-ms"] as string | undefined;
    this.timeout = timeout === undefined ? noTimeout : connect.parseTimeout(timeout, Number.MAX_SAFE_INTEGER);
    const requested = query === undefined ? headers["content-encoding"] : (query.get("compression") ?? undefined);
    this.compression = this.negotiate(requested, headers["accept-encoding"] as string | undefined, "Accept-Encoding");
  }

  async read(): Promise<Message> {
    const { query } = this.format;
    const { readMaxBytes: maxBytes } = this.messages;
    const bytes = query === undefined ? await this.#readBody(maxBytes) : bytesOf(query);
    const compression = this.compression.request;
    return this.parse(compression === null ? bytes : await compression.decompress(bytes, maxBytes));
  }

  encode(reply: Reply): Uint8Array | Promise<Uint8Array> {
    const encoded = this.encodeMessage(reply);
    return encoded instanceof Promise ? encoded.then((each) => this.#take(each)) : this.#take(encoded);
  }

  succeed(body: Uint8Array): void {
    this.#send(200, this.fields(), body);
  }

  async fail(error: ConnectError): Promise<void> {
    const body = this.#take(
      await this.compressed(connect.errorToJsonBytes(error, undefined), this.compression.response),
    );
    const header = new Headers(this.metadata.headerSet);
    mergeNonProtocolHeaders(header, error.metadata);
    header.set("cache-control", "no-store");
    const fields = { ...this.fields(), ...Object.fromEntries(header), "content-type": "application/json" };
    this.#send(connect.codeToHttpStatus(error.code), fields, body);
  }

  /** Whether the response is for one caller alone, and caches might keep it because the request is a GET. */
  get #isPersonalRead(): boolean {
    const { rpc } = this.context.route;
    return this.format.query !== undefined && rpc !== undefined && rulesOf(rpc).access !== Access.PUBLIC;
  }

  async #readBody(maxBytes: number): Promise<Uint8Array> {
    const announced = Number(this.context.request.headers["content-length"]);
    if (announced > maxBytes) throw messageTooLarge(maxBytes, announced);
    const { bytes, isTooLong } = await this.arrived();
    if (isTooLong || bytes.length > maxBytes) throw messageTooLarge(maxBytes);
    return bytes;
  }

  #take({ bytes, isCompressed }: EncodedMessage): Uint8Array {
    this.#isCompressed = isCompressed;
    return bytes;
  }

  #send(status: number, fields: Record<string, string>, body: Uint8Array): void {
    if (this.#isCompressed) fields["content-encoding"] = this.compression.response?.name as string;
    // A cache must not give the compressed response to a client that does not accept the compression.
    if (this.#isCompressed && this.format.query !== undefined) fields.vary = "accept-encoding";
    if (this.#isPersonalRead) fields["cache-control"] = "private, no-store";
    const { trailerSet } = this.metadata;
    if (trailerSet !== undefined) for (const [name, value] of trailerSet) fields[`trailer-${name}`] = value;
    fields["content-length"] = String(body.length);
    this.open?.writeHead(status, fields).end(body);
  }
}

/** The message of a GET. @throws ConnectError `invalid_argument`; Connect's own handler would fail with `internal` */
function bytesOf(query: URLSearchParams): Uint8Array {
  const text = query.get("message") ?? "";
  if (query.get("base64") !== "1") return Buffer.from(text);
  try {
    return base64Decode(text);
  } catch (error) {
    throw new ConnectError("The message is not Base64.", Code.InvalidArgument, undefined, undefined, error);
  }
}
