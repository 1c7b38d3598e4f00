import { type DescMessage, hasOption, type Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import { event_id } from "../../../gen/stoa/v1/options_pb.js";
import { outcomeOf, toErrorBody, toStoaError } from "../../calls/error-mapping.ts";
import { Latest } from "../../calls/latest.ts";
import type { Implementation, InterceptorsOf } from "../../calls/service-table.ts";
import { createStreamCall, isServerStreaming } from "../../calls/stream-call.ts";
import type { Binding } from "../../contract/bindings.ts";
import { getOption } from "../../contract/options.ts";
import { responseOf } from "../../contract/responses.ts";
import { withTimeout } from "../../timing/wait.ts";
import { encoderOf } from "../../transcoding/index.ts";
import type { RequestContext } from "../requests/context.ts";
import { untilTaken } from "../requests/exchange.ts";
import type { AnswerCall } from "./addresses.ts";

/** How long the head waits for the first message or failure, in milliseconds. A failure in that time has its own status. */
const headMs = 250;
const defaultHeartbeatMs = 15_000;

/** How the messages of a stream are written: newline-delimited JSON, or server-sent events. */
export interface StreamFormat<Sent = Message> {
  readonly contentType: string;
  message(message: Sent): Uint8Array;
  /** @param body has the Error shape */
  failure(body: string): string;
  /** What parsers skip. Proxies cut connections that are silent for long. */
  readonly heartbeat: string;
}

/** Whether a client wants a stream as server-sent events. */
function wantsEvents({ request }: RequestContext): boolean {
  return /(?:^|,)\s*text\/event-stream\b/i.test(request.headers.accept ?? "");
}

/** The id of the last event that a client has seen, which asks for its events again. */
export function lastEventIdOf(context: RequestContext): string | undefined {
  return wantsEvents(context) ? (context.header("last-event-id") ?? undefined) : undefined;
}

interface SendingOptions {
  /** Header fields besides those that all replies have. */
  fields: Readonly<Record<string, string>>;
  /** The time between heartbeats, in milliseconds; 15 s by default. */
  heartbeatMs: number | undefined;
}

/**
 * Makes the streaming calls of a binding. An answer resolves when its head is sent, and the stream goes on.
 * @throws Error for an RPC without an implementation or one that REST cannot serve; the service then does not start
 */
export function createStreamAnswer(
  binding: Binding,
  implementation: Implementation,
  interceptors: InterceptorsOf,
  options: SendingOptions,
): AnswerCall {
  const { rpc } = binding;
  if (!isServerStreaming(rpc)) throw new Error(`${rpc.parent.typeName}.${rpc.name} is not a stream of responses.`);
  const call = createStreamCall(rpc, implementation, interceptors);
  const { desc, select } = responseOf(binding);
  const lines = asLines(desc, select);
  const events = asEvents(desc, select);
  return async (context, { message }, init) => {
    const messages = (await call(message as Message, init))[Symbol.asyncIterator]();
    const first = messages.next();
    await withTimeout(first, headMs);
    void sendStream(context, wantsEvents(context) ? events : lines, first, messages, options);
    return undefined;
  };
}

// Hundreds of followers get the same message one after the other. They share its bytes, also while they wait to be sent.

/** One message in each line; the last line of a stream that fails has the Error shape. */
function asLines(desc: DescMessage, select: (message: Message) => Message): StreamFormat {
  const latest = new Latest<Message, Buffer>();
  const toJson = encoderOf(desc);
  const encode = (message: Message) => Buffer.from(`${JSON.stringify(toJson(select(message)))}\n`);
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
  const toJson = encoderOf(desc);
  const encode = (message: Message) => {
    const selected = select(message) as Message & Record<string, unknown>;
    const id = idField && selected[idField.localName];
    const head = id === undefined ? "" : `id: ${id}\n`;
    return Buffer.from(`${head}data: ${JSON.stringify(toJson(selected))}\n\n`);
  };
  return {
    contentType: "text/event-stream",
    message: (message) => latest.get(message, () => encode(message)),
    failure: (body) => `event: error\ndata: ${body}\n\n`,
    heartbeat: ": still here\n\n",
  };
}

/** Sends the head before there is a message, for which a follower may wait for hours. Then sends heartbeats. */
function sendHead(
  context: RequestContext,
  { contentType, heartbeat }: Pick<StreamFormat, "contentType" | "heartbeat">,
  { fields, heartbeatMs = defaultHeartbeatMs }: SendingOptions,
): void {
  const { response } = context;
  response.writeHead(200, {
    "cache-control": "no-store",
    ...context.fields(),
    ...fields,
    "content-type": contentType,
    // Tells proxies such as nginx not to buffer this reply.
    "x-accel-buffering": "no",
  });
  response.flushHeaders();
  const timer = setInterval(() => {
    // The connection is not silent while bytes wait for the client.
    if (response.writableLength === 0 && !response.writableEnded) response.write(heartbeat);
  }, heartbeatMs).unref();
  context.onEnd(() => clearInterval(timer));
}

/**
 * Sends the head, and messages as they come. Requests the next one when the client has taken those before it. Never rejects.
 */
export async function sendStream<Sent>(
  context: RequestContext,
  format: StreamFormat<Sent>,
  first: Promise<IteratorResult<Sent>>,
  messages: AsyncIterator<Sent>,
  options: SendingOptions,
): Promise<void> {
  const { response } = context;
  if (context.isOpen) sendHead(context, format, options);
  try {
    for (let next = await first; next.done !== true && context.isOpen; next = await messages.next()) {
      if (!response.write(format.message(next.value))) await untilTaken(context);
    }
  } catch (error) {
    const failure = format.failure(describe(error, context));
    if (context.isOpen) response.write(failure);
  }
  await messages.return?.().catch(() => {});
  if (context.isOpen) response.end();
}

/** Records a failure. @returns its Error shape */
function describe(error: unknown, { log, notes }: RequestContext): string {
  // The interceptors have logged what they throw, which is a Connect error.
  if (!(error instanceof ConnectError)) log.error({ err: error }, "a stream failed");
  notes.outcome = outcomeOf(error);
  return toErrorBody(toStoaError(error));
}
