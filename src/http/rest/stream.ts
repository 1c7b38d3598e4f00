import { type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { event_id } from "../../../gen/stoa/v1/options_pb.js";
import type { CallInit } from "../../calls/call.ts";
import { outcomeOf, toErrorBody, toStoaError } from "../../calls/error-mapping.ts";
import { Latest } from "../../calls/latest.ts";
import type { Implementation, InterceptorsOf } from "../../calls/service-table.ts";
import { createStreamCall, isServerStreaming } from "../../calls/stream-call.ts";
import type { Binding } from "../../contract/bindings.ts";
import { responseOf } from "../../contract/responses.ts";
import { encodeMessage } from "../../transcoding/index.ts";
import type { RequestContext } from "../requests/context.ts";
import { isClosed, untilTaken } from "../requests/exchange.ts";
import type { HttpResponse } from "../requests/http-messages.ts";

/** How long the head waits for the first message or failure, in milliseconds. A failure in that time has its own status. */
const headMs = 250;
const defaultHeartbeatMs = 15_000;

/** How the messages of a stream are written: newline-delimited JSON, or server-sent events. */
interface StreamFormat {
  readonly contentType: string;
  message(message: Message): Buffer;
  /** @param body has the Error shape */
  failure(body: string): string;
  /** What parsers skip. Proxies cut connections that are silent for long. */
  readonly heartbeat: string;
}

/** Whether a client wants a stream as server-sent events. */
export function wantsEvents({ request }: RequestContext): boolean {
  return /(?:^|,)\s*text\/event-stream\b/i.test(request.headers.accept ?? "");
}

/** Makes the streaming call of a binding and sends its reply. Resolves when the head is sent. */
export type ServeStream = (context: RequestContext, message: Message, init: CallInit) => Promise<void>;

export interface SendingOptions {
  /** Header fields besides those that all replies have. */
  fields: Readonly<Record<string, string>>;
  /** The header fields that every reply has. */
  commonFields: (context: RequestContext) => Record<string, string>;
  /** The time between heartbeats, in milliseconds; 15 s by default. */
  heartbeatMs: number | undefined;
}

/** @throws Error for an RPC without an implementation or one that REST cannot serve; the service then does not start */
export function createServeStream(
  binding: Binding,
  implementation: Implementation,
  interceptors: InterceptorsOf,
  { fields, commonFields, heartbeatMs }: SendingOptions,
): ServeStream {
  const { rpc } = binding;
  if (!isServerStreaming(rpc)) throw new Error(`${rpc.parent.typeName}.${rpc.name} is not a stream of responses.`);
  const call = createStreamCall(rpc, implementation, interceptors);
  const { desc, select } = responseOf(binding);
  const lines = asLines(desc, select);
  const events = asEvents(desc, select);
  return async (context, message, init) => {
    const messages = await call(message, init);
    const format = wantsEvents(context) ? events : lines;
    await sendStream(context, { format, fields: { ...commonFields(context), ...fields }, heartbeatMs }, messages);
  };
}

// Hundreds of followers get the same message one after the other. They share its bytes, also while they wait to be sent.

/** One message in each line; the last line of a stream that fails has the Error shape. */
function asLines(desc: DescMessage, select: (message: Message) => Message): StreamFormat {
  const latest = new Latest<Message, Buffer>();
  const encode = (message: Message) => Buffer.from(`${JSON.stringify(encodeMessage(desc, select(message)))}\n`);
  return {
    contentType: "application/x-ndjson; charset=utf-8",
    message: (message) => latest.get(message, () => encode(message)),
    failure: (body) => `${body}\n`,
    heartbeat: "\n",
  };
}

/** Server-sent events. The field marked `event_id` is their id. */
function asEvents(desc: DescMessage, select: (message: Message) => Message): StreamFormat {
  const latest = new Latest<Message, Buffer>();
  const idField = desc.fields.find((field) => hasOption(field, event_id) && getOption(field, event_id));
  const encode = (message: Message) => {
    const selected = select(message) as Message & Record<string, unknown>;
    const id = idField && selected[idField.localName];
    const head = id === undefined ? "" : `id: ${id}\n`;
    return Buffer.from(`${head}data: ${JSON.stringify(encodeMessage(desc, selected))}\n\n`);
  };
  return {
    contentType: "text/event-stream",
    message: (message) => latest.get(message, () => encode(message)),
    failure: (body) => `event: error\ndata: ${body}\n\n`,
    heartbeat: ": still here\n\n",
  };
}

interface SendOptions {
  format: StreamFormat;
  /** The header fields of the reply, besides those of the format and of the limits. */
  fields: Readonly<Record<string, string>>;
  heartbeatMs: number | undefined;
}

/**
 * Sends messages as they come. The next one is requested when the client has taken those before it. Resolves when the head
 * is sent.
 * @throws the failure of the stream before its first message
 */
function sendStream(context: RequestContext, options: SendOptions, messages: AsyncIterable<Message>): Promise<void> {
  return new StreamReply(context, options).open(messages[Symbol.asyncIterator]());
}

/** A reply whose head has not been sent. */
interface Opening {
  timer: NodeJS.Timeout;
  resolve(): void;
  reject(error: unknown): void;
}

/** The only place where streams of the facade are written. The head is sent at once: a follower may wait for hours. */
class StreamReply {
  readonly #context: RequestContext;
  readonly #response: HttpResponse;
  readonly #format: StreamFormat;
  readonly #fields: Readonly<Record<string, string>>;
  readonly #heartbeatMs: number;
  #opening: Opening | undefined;

  constructor(context: RequestContext, { format, fields, heartbeatMs = defaultHeartbeatMs }: SendOptions) {
    this.#context = context;
    this.#response = context.response;
    this.#format = format;
    this.#fields = fields;
    this.#heartbeatMs = heartbeatMs;
  }

  open(messages: AsyncIterator<Message>): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => this.#begin(), headMs);
    this.#opening = { timer, resolve, reject };
    void this.#send(messages);
    return promise;
  }

  /** Never rejects. */
  async #send(messages: AsyncIterator<Message>): Promise<void> {
    const response = this.#response;
    try {
      for (let next = await messages.next(); next.done !== true; next = await messages.next()) {
        this.#begin();
        if (!this.#write(this.#format.message(next.value))) await untilTaken(response);
        if (isClosed(response)) break;
      }
      this.#begin();
    } catch (error) {
      if (this.#refuse(error)) return;
      this.#write(this.#format.failure(this.#describe(error)));
    }
    await messages.return?.().catch(() => {});
    if (!isClosed(response)) response.end();
  }

  /** Sends the head, and keeps the connection alive from now on; does nothing if the head has been sent. */
  #begin(): void {
    if (this.#opening === undefined) return;
    const { timer, resolve } = this.#opening;
    this.#opening = undefined;
    clearTimeout(timer);
    if (this.#context.isOpen) {
      this.#response.writeHead(200, {
        "cache-control": "no-store",
        ...this.#fields,
        ...this.#context.limits.fields(),
        "content-type": this.#format.contentType,
        // Tells proxies such as nginx not to buffer this reply.
        "x-accel-buffering": "no",
      });
      this.#response.flushHeaders();
      this.#keepAlive();
    }
    resolve();
  }

  /** Makes `open` reject with a failure. @returns false if the head has been sent */
  #refuse(error: unknown): boolean {
    if (this.#opening === undefined) return false;
    clearTimeout(this.#opening.timer);
    this.#opening.reject(error);
    return true;
  }

  /** @returns false if the client has to take what was written before */
  #write(text: Buffer | string): boolean {
    const response = this.#response;
    return isClosed(response) || response.write(text);
  }

  /** Writes heartbeats between messages while the response is open. Each message is one write. */
  #keepAlive(): void {
    const response = this.#response;
    const { heartbeat } = this.#format;
    const timer = setInterval(() => {
      // The connection is not silent while bytes wait for the client.
      if (response.writableLength === 0 && !response.writableEnded) response.write(heartbeat);
    }, this.#heartbeatMs).unref();
    this.#context.onEnd(() => clearInterval(timer));
  }

  #describe(error: unknown): string {
    // The interceptors have logged what they throw, which is a Connect error.
    if (!(error instanceof ConnectError)) this.#context.log.error({ err: error }, "a stream failed");
    this.#context.notes.outcome = outcomeOf(error);
    return toErrorBody(toStoaError(error));
  }
}
