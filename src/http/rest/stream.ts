import { Readable } from "node:stream";
import { type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";
import { event_id } from "../../../gen/stoa/v1/options_pb.js";
import type { RequestContext } from "../../calls/context.ts";
import { toErrorBody, toStoaError } from "../../calls/error-mapping.ts";
import { Latest } from "../../calls/latest.ts";
import { recordFailure } from "../../calls/outcome.ts";
import { withTimeout } from "../../timing/wait.ts";
import { encodeMessage } from "../../transcoding/index.ts";

/** How long the head waits for the first message or failure, in milliseconds. A failure in that time has its own status. */
const headMs = 250;

/** How many bytes are made in advance. It is little, because thousands of clients may stop reading at the same time. */
const bufferedBytes = 16 * 1024;

/** Hundreds of followers get the same message one after the other. They share its bytes, also while they wait to be sent. */
const lines = new Latest<Message, Buffer>();
const events = new Latest<Message, Buffer>();

/** Whether a client wants a stream as server-sent events. */
export function wantsEvents({ headers }: FastifyRequest): boolean {
  return /(?:^|,)\s*text\/event-stream\b/i.test(headers.accept ?? "");
}

/**
 * Sends messages as they come. The reply is newline-delimited JSON with one message in each line; the last line of a stream
 * that fails has the Error shape. If the client accepts text/event-stream, the reply is server-sent events, and the field
 * marked `event_id` is their id. The next message is requested when the client has taken the one before. Proxies cut silent
 * connections, so an empty line, or a comment between events, is sent regularly; parsers skip it.
 * @param heartbeatMs the time between these, in milliseconds
 * @throws the failure of the stream before its first message
 */
export async function sendStream(
  request: FastifyRequest,
  reply: FastifyReply,
  desc: DescMessage,
  messages: AsyncIterable<Message>,
  heartbeatMs = 15_000,
): Promise<FastifyReply> {
  const events = wantsEvents(request);
  const iterator = messages[Symbol.asyncIterator]();
  const first = iterator.next();
  // If the client disconnects before anything is sent, nobody handles this failure.
  first.catch(() => {});
  await withTimeout(first, headMs);

  const describe = (error: unknown) => {
    // The interceptors have logged what they throw, which is a Connect error.
    if (!(error instanceof ConnectError)) request.log.error({ err: error }, "a stream failed");
    recordFailure(request.context, error);
    return toErrorBody(toStoaError(error));
  };
  // Node sends the head with the first bytes of the body, for which a follower of the chain may wait for hours.
  reply.raw.once("pipe", () => {
    reply.raw.flushHeaders();
    keepAlive(request.context, events ? ": still here\n\n" : "\n", heartbeatMs);
  });
  const chunks = events ? toEvents(desc, iterator, first, describe) : toLines(desc, iterator, first, describe);
  return (
    reply
      .code(200)
      .header("content-type", events ? "text/event-stream" : "application/x-ndjson; charset=utf-8")
      .header("cache-control", "no-store")
      // Tells proxies such as nginx not to buffer this reply.
      .header("x-accel-buffering", "no")
      .send(Readable.from(chunks, { objectMode: false, highWaterMark: bufferedBytes }))
  );
}

/** Writes `text` between messages while the response is open. Each message is one write. */
function keepAlive(context: RequestContext, text: string, ms: number): void {
  const { response } = context;
  const timer = setInterval(() => {
    // The connection is not silent while bytes wait for the client.
    if (response.writableLength === 0 && !response.writableEnded) response.write(text);
  }, ms).unref();
  context.onEnd(() => clearInterval(timer));
}

type Result = Promise<IteratorResult<Message, unknown>>;

async function* toLines(
  desc: DescMessage,
  iterator: AsyncIterator<Message>,
  first: Result,
  describe: (error: unknown) => string,
): AsyncGenerator<Buffer | string> {
  try {
    for (let next = await first; next.done !== true; next = await iterator.next()) {
      const { value } = next;
      yield lines.get(value, () => Buffer.from(`${JSON.stringify(encodeMessage(desc, value))}\n`));
    }
  } catch (error) {
    yield `${describe(error)}\n`;
  } finally {
    await iterator.return?.();
  }
}

async function* toEvents(
  desc: DescMessage,
  iterator: AsyncIterator<Message>,
  first: Result,
  describe: (error: unknown) => string,
): AsyncGenerator<Buffer | string> {
  const idField = desc.fields.find((field) => hasOption(field, event_id) && getOption(field, event_id));
  try {
    for (let next = await first; next.done !== true; next = await iterator.next()) {
      const { value } = next;
      yield events.get(value, () => {
        const id = idField && (value as Message & Record<string, unknown>)[idField.localName];
        const head = id === undefined ? "" : `id: ${id}\n`;
        return Buffer.from(`${head}data: ${JSON.stringify(encodeMessage(desc, value))}\n\n`);
      });
    }
  } catch (error) {
    yield `event: error\ndata: ${describe(error)}\n\n`;
  } finally {
    await iterator.return?.();
  }
}
