import type { Message } from "@bufbuild/protobuf";
import type { ConnectError } from "@connectrpc/connect";
import { ResponseMetadata } from "../../../calls/call.ts";
import type { Reply, Shared } from "../../../calls/unary-call.ts";
import { minCompressed } from "../../replies/compression.ts";
import { isLargeBody } from "../../requests/bodies.ts";
import type { ArrivedBody } from "../../requests/body.ts";
import type { RequestContext } from "../../requests/context.ts";
import type { HttpResponse } from "../../requests/http-messages.ts";
import { type Compression, compressionNegotiate } from "../connect-protocol.ts";
import type { Messages } from "../messages.ts";
import type { Format } from "./format.ts";

/** The time limit that the caller sets in the head, in milliseconds, or the error in it. */
export interface Timeout {
  timeoutMs?: number | undefined;
  error?: ConnectError | undefined;
}

/** The caller has set no time limit. */
export const noTimeout: Timeout = {};
const noBody: ArrivedBody = { bytes: Buffer.alloc(0), isWhole: true, isTooLong: false };

export type Negotiated = ReturnType<typeof compressionNegotiate>;
const uncompressed: Negotiated = { request: null, response: null };

/** A response message as it is sent. */
export interface EncodedMessage {
  bytes: Uint8Array;
  isCompressed: boolean;
}

export type ExchangeArguments = [format: Format, messages: Messages, context: RequestContext];

/** One unary request and its response, in one protocol. */
export abstract class UnaryExchange {
  readonly format: Format;
  readonly context: RequestContext;
  readonly metadata = new ResponseMetadata();
  protected readonly messages: Messages;

  constructor(...[format, messages, context]: ExchangeArguments) {
    this.format = format;
    this.context = context;
    this.messages = messages;
  }

  abstract readonly timeout: Timeout;
  protected abstract readonly compression: Negotiated;

  /** @throws ConnectError where the head is at fault */
  checkHead(): void {
    const error = this.compression.error ?? this.timeout.error;
    if (error !== undefined) throw error;
  }

  /** Reads the request message. @throws ConnectError; StoaError `bad_input` for a field of JSON */
  abstract read(): Promise<Message>;
  /** Makes what `succeed` sends. @throws ConnectError `internal` */
  abstract encode(reply: Reply): Uint8Array | Promise<Uint8Array>;
  abstract succeed(body: Uint8Array): void;
  abstract fail(error: ConnectError): void | Promise<void>;

  /** What has arrived of the body. See `RequestBody.arrived`. @throws ConnectError `canceled` */
  protected arrived(isEnough?: (bytes: Buffer) => boolean): Promise<ArrivedBody> | ArrivedBody {
    return this.context.body?.arrived(isEnough) ?? noBody;
  }

  /** Parses a message, when its turn comes if it is large. */
  protected parse(bytes: Uint8Array): Message | Promise<Message> {
    const { parse } = this.messages.serialization.getI(this.format.isBinary);
    return isLargeBody(bytes) ? this.messages.bodies.turn().then(() => parse(bytes)) : parse(bytes);
  }

  /** Encodes the response message, once for all requests that share it. */
  protected encodeMessage({ message, shared }: Reply): EncodedMessage | Promise<EncodedMessage> {
    const { response } = this.compression;
    const make = () => {
      const bytes = this.messages.serialization.getO(this.format.isBinary).serialize(message);
      return this.compressed(bytes, response);
    };
    return this.madeOnce(shared, `message ${response?.name}`, make);
  }

  /** Chooses the compressions of the request and its response. @param name the header by which clients accept them */
  protected negotiate(requested: string | undefined, accepted: string | undefined, name: string): Negotiated {
    if (requested === undefined && accepted === undefined) return uncompressed;
    return compressionNegotiate(this.messages.compressions, requested ?? null, accepted ?? null, name);
  }

  /** What is made of the response message in this format. Requests that share the response make it once. */
  protected madeOnce<T>(shared: Shared | undefined, name: string, make: () => T): T {
    const forms = shared?.forms;
    return forms === undefined ? make() : forms.get(`${this.format.isBinary ? "binary" : "JSON"} ${name}`, make);
  }

  protected compressed(bytes: Uint8Array, by: Compression | null): EncodedMessage | Promise<EncodedMessage> {
    if (by === null || bytes.length < minCompressed) return { bytes, isCompressed: false };
    return by.compress(bytes).then((compressed) => ({ bytes: compressed, isCompressed: true }));
  }

  /** The header fields that responses of all protocols have, and those that the call has set. */
  protected fields(): Record<string, string> {
    const fields = this.context.fields();
    fields["content-type"] = this.format.contentType;
    const { headerSet } = this.metadata;
    if (headerSet !== undefined) for (const [name, value] of headerSet) fields[name] = value;
    return fields;
  }

  /** The response; undefined if it cannot be sent any more. */
  protected get open(): HttpResponse | undefined {
    return this.context.isOpen ? this.context.response : undefined;
  }
}
