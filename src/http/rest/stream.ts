import { Readable } from "node:stream";
import { type DescMessage, getOption, hasOption, type Message } from "@bufbuild/protobuf";
import { ConnectError } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";
import { event_id } from "../../../gen/stoa/v1/options_pb.js";
import type { RequestContext } from "../../calls/context.ts";
import { toErrorBody, toStoaError } from "../../calls/error-mapping.ts";
import { recordFailure } from "../../calls/outcome.ts";
import { withTimeout } from "../../timing/wait.ts";
import { encodeMessage } from "../../transcoding/index.ts";

/** How long the reply's head waits for a first message or failure, in milliseconds; a failure then has its own status. */
const headMs = 250;

/** What is made ahead of what the client has taken, in bytes: thousands of clients may stop reading at the same time. */
const bufferedBytes = 16 * 1024;

/** Whether a client would have a stream as server-sent events. */
export function wantsEvents({ headers }: FastifyRequest): boolean {
  return /(?:^|,)\s*text\/event-stream\b/i.test(headers.accept ?? "");
}

/**
 * Sends messages as they come: newline-delimited JSON, one message a line, the last line of a stream that fails being the
 * Error shape; or, where the client accepts text/event-stream, server-sent events, of which the field marked `event_id` is
 * the id. The next message is asked for when the client has taken the one before. Proxies cut connections that are silent:
 * an empty line, or a comment among events, goes out regularly, and parsers skip it.
 * @param heartbeatMs how often that happens
 * @throws what the stream fails with before its first message
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
  // Where the client goes away before anything is sent, nobody reads this.
  first.catch(() => {});
  await withTimeout(first, headMs);

  const describe = (error: unknown) => {
    // What the chain lets out has been logged, and is a Connect error.
    if (!(error instanceof ConnectError)) request.log.error({ err: error }, "a stream failed");
    recordFailure(request.context, error);
    return toErrorBody(toStoaError(error));
  };
  // Node holds the head back until there is a body, and a follower at the end of a chain may wait for hours.
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
      // Proxies that collect replies (nginx) shall not collect this one.
      .header("x-accel-buffering", "no")
      .send(Readable.from(chunks, { objectMode: false, highWaterMark: bufferedBytes }))
  );
}

/** Writes `text` between the messages, each of which is one write, as long as the response is open. */
function keepAlive(context: RequestContext, text: string, ms: number): void {
  const { response } = context;
  const timer = setInterval(() => {
    // Where the client has not taken what was sent before, the connection is not silent.
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
): AsyncGenerator<string> {
  try {
    for (let next = await first; next.done !== true; next = await iterator.next()) {
      yield `${JSON.stringify(encodeMessage(desc, next.value))}\n`;
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
): AsyncGenerator<string> {
  const idField = desc.fields.find((field) => hasOption(field, event_id) && getOption(field, event_id));
  try {
    for (let next = await first; next.done !== true; next = await iterator.next()) {
      const id = idField && (next.value as Message & Record<string, unknown>)[idField.localName];
      yield `${id === undefined ? "" : `id: ${id}\n`}data: ${JSON.stringify(encodeMessage(desc, next.value))}\n\n`;
    }
  } catch (error) {
    yield `event: error\ndata: ${describe(error)}\n\n`;
  } finally {
    await iterator.return?.();
  }
}
