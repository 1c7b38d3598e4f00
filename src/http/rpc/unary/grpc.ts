// gRPC (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-HTTP2.md) and gRPC-Web
// (https://github.com/grpc/grpc/blob/master/doc/PROTOCOL-WEB.md). Failures have the head of a success; their
// status is in the trailers.
import type { Message } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Reply } from "../../../calls/unary-call.ts";
import { compressedFlag, grpc, grpcWeb } from "../connect-protocol.ts";
import { respell } from "../status-message.ts";
import { decidesFirst, type Envelope, EnvelopeSplitter, enclose, messageTooLarge, notNamed } from "./envelopes.ts";
import {
  type EncodedMessage,
  type ExchangeArguments,
  type Negotiated,
  noTimeout,
  type Timeout,
  UnaryExchange,
} from "./exchange.ts";

abstract class EnvelopedExchange extends UnaryExchange {
  readonly timeout: Timeout;
  protected readonly compression: Negotiated;

  constructor(...args: ExchangeArguments) {
    super(...args);
    const { headers } = this.context.request;
    const timeout = headers["grpc-timeout"] as string | undefined;
    this.timeout = timeout === undefined ? noTimeout : grpc.parseTimeout(timeout, Number.MAX_SAFE_INTEGER);
    this.compression = this.negotiate(
      headers["grpc-encoding"] as string | undefined,
      headers["grpc-accept-encoding"] as string | undefined,
      "Grpc-Accept-Encoding",
    );
  }

  async read(): Promise<Message> {
    const { readMaxBytes } = this.messages;
    const splitter = new EnvelopeSplitter(readMaxBytes);
    // A client that sends no end of its request is told of a bad message at once.
    const first = await this.arrived((bytes) => decidesFirst(bytes, readMaxBytes));
    let message = await this.#accept(splitter.push(first.bytes), undefined);
    const whole = first.isWhole || first.isTooLong ? first : await this.arrived();
    if (whole !== first) message = await this.#accept(splitter.push(whole.bytes.subarray(first.bytes.length)), message);
    if (whole.isTooLong) throw messageTooLarge(readMaxBytes);
    splitter.end();
    if (message === undefined) throw unimplemented("missing input message");
    return message;
  }

  /** @param message what has been accepted before. @returns the one message */
  async #accept(envelopes: Envelope[], message: Message | undefined): Promise<Message | undefined> {
    let accepted = message;
    for (const { flags, data } of envelopes) {
      // Other envelopes are ignored and not decompressed. There may be thousands, and each could become long.
      if (!this.isMessage(flags)) continue;
      const parsed = this.parse((flags & compressedFlag) === 0 ? data : await this.#decompress(data));
      const next = parsed instanceof Promise ? await parsed : parsed;
      if (accepted !== undefined) throw unimplemented("received extra input message");
      accepted = next;
    }
    return accepted;
  }

  encode(reply: Reply): Uint8Array | Promise<Uint8Array> {
    return this.madeOnce(reply.shared, `envelope ${this.compression.response?.name}`, () => {
      const encoded = this.encodeMessage(reply);
      return encoded instanceof Promise ? encoded.then(encloseMessage) : encloseMessage(encoded);
    });
  }

  /** Whether an envelope with these flags holds a message. */
  protected abstract isMessage(flags: number): boolean;

  protected override fields(): Record<string, string> {
    const fields = super.fields();
    const { response } = this.compression;
    if (response !== null) fields["grpc-encoding"] = response.name;
    return fields;
  }

  protected trailersOf(error: ConnectError): Headers {
    return grpc.setTrailerStatus(new Headers(this.metadata.trailerSet), error);
  }

  #decompress(data: Uint8Array): Promise<Uint8Array> {
    const { request } = this.compression;
    if (request !== null) return request.decompress(data, this.messages.readMaxBytes);
    throw notNamed();
  }
}

export class GrpcExchange extends EnvelopedExchange {
  protected isMessage(): boolean {
    return true;
  }

  succeed(envelope: Uint8Array): void {
    this.#send(envelope, { "grpc-status": "0", ...fromHeaders(this.metadata.trailerSet) });
  }

  fail(error: ConnectError): void {
    const trailers = fromHeaders(this.trailersOf(error));
    trailers["grpc-message"] = respell(trailers["grpc-message"] ?? "");
    this.#send(undefined, trailers);
  }

  #send(envelope: Uint8Array | undefined, trailers: Record<string, string>): void {
    const response = this.open;
    if (response === undefined) return;
    response.addTrailers(trailers);
    response.writeHead(200, this.fields());
    response.end(envelope);
  }
}

const succeeded = enclose(grpcWeb.trailerFlag, Buffer.from("grpc-status: 0\r\n"));

/** The trailers of gRPC-Web are the last envelope of the body. */
export class GrpcWebExchange extends EnvelopedExchange {
  protected isMessage(flags: number): boolean {
    return (flags & grpcWeb.trailerFlag) === 0;
  }

  succeed(envelope: Uint8Array): void {
    const { trailerSet } = this.metadata;
    trailerSet?.set("grpc-status", "0");
    const trailer =
      trailerSet === undefined ? succeeded : enclose(grpcWeb.trailerFlag, grpcWeb.trailerSerialize(trailerSet));
    this.#send(Buffer.concat([envelope, trailer]));
  }

  async fail(error: ConnectError): Promise<void> {
    const bytes = grpcWeb.trailerSerialize(this.trailersOf(error));
    const encoded = await this.compressed(bytes, this.compression.response);
    this.#send(enclose(grpcWeb.trailerFlag | flagOf(encoded), encoded.bytes));
  }

  #send(body: Buffer): void {
    const response = this.open;
    response?.writeHead(200, this.fields());
    response?.end(body);
  }
}

function flagOf({ isCompressed }: EncodedMessage): number {
  return isCompressed ? compressedFlag : 0;
}

function encloseMessage(encoded: EncodedMessage): Buffer {
  return enclose(flagOf(encoded), encoded.bytes);
}

function fromHeaders(headers: Headers | undefined): Record<string, string> {
  return headers === undefined ? {} : Object.fromEntries(headers);
}

function unimplemented(what: string): ConnectError {
  return new ConnectError(`protocol error: ${what} for unary method`, Code.Unimplemented);
}
