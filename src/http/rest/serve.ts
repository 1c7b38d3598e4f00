import type { Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Implementation } from "../../calls/service-table.ts";
import { createStreamCall, isServerStreaming } from "../../calls/stream-call.ts";
import { type CallInit, createUnaryCall } from "../../calls/unary-call.ts";
import type { Binding } from "../../contract/bindings.ts";
import { responseOf } from "../../contract/responses.ts";
import { createTextLength } from "../../contract/text-length.ts";
import { encodeInParts, encodeMessage, largeLength, type ReadRequest } from "../../transcoding/index.ts";
import { matchesEtag } from "../replies/etag.ts";
import { sendStream } from "./stream.ts";

/** Makes the call of a binding and sends its reply. */
export type Serve = (
  read: ReadRequest,
  init: CallInit,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply>;

/** @throws Error for an RPC without an implementation or one that REST cannot serve; the service then does not start */
export function createServe(
  binding: Binding,
  implementation: Implementation,
  interceptors: readonly Interceptor[],
  heartbeatMs: number | undefined,
): Serve {
  const { rpc } = binding;
  return isServerStreaming(rpc)
    ? serveStream(binding, createStreamCall(rpc, implementation, interceptors), heartbeatMs)
    : serveUnary(binding, createUnaryCall(rpc, implementation, interceptors));
}

function serveUnary(binding: Binding, call: ReturnType<typeof createUnaryCall>): Serve {
  const write = createWriter(binding);
  return async ({ message, warnings }, init, request, reply) => {
    const response = await call(message, init);
    if (response.headers) for (const [name, value] of response.headers) reply.header(name, value);
    const tag = response.headers?.get("etag");
    if (tag && matchesEtag(request.raw.headers["if-none-match"], tag)) return reply.code(304).send();
    return write(reply, response.message, warnings);
  };
}

function serveStream(
  binding: Binding,
  call: ReturnType<typeof createStreamCall>,
  heartbeatMs: number | undefined,
): Serve {
  const { desc, select } = responseOf(binding);
  return async ({ message }, init, request, reply) =>
    sendStream(request, reply, desc, map(await call(message, init), select), heartbeatMs);
}

async function* map<T, U>(items: AsyncIterable<T>, change: (item: T) => U): AsyncGenerator<U> {
  for await (const item of items) yield change(item);
}

type Write = (reply: FastifyReply, message: Message, warnings: readonly string[]) => FastifyReply;

/**
 * How a binding's responses are written: JSON with `ok` first and warnings last, or the bytes of a google.api.HttpBody as
 * they are. Warnings are about this request, so they are no part of a stored response.
 */
function createWriter(binding: Binding): Write {
  const { desc, select } = responseOf(binding);
  const { status } = binding;
  if (desc.typeName === "google.api.HttpBody") {
    return (reply, message) => {
      const { contentType, data } = select(message) as Message & { contentType: string; data: Uint8Array };
      return reply
        .code(status)
        .header("content-type", contentType || "application/octet-stream")
        .send(Buffer.from(data));
    };
  }
  if (desc.fields.some(({ name }) => name === "warnings")) throw new Error(`${desc.typeName} may not have warnings.`);
  const textLength = createTextLength(desc);
  return (reply, message, warnings) => {
    const selected = select(message);
    const members: Record<string, unknown> = { ok: true, ...encodeMessage(desc, selected) };
    if (warnings.length > 0) members.warnings = warnings;
    const json =
      textLength !== undefined && textLength(selected) > largeLength ? encodeInParts(members) : JSON.stringify(members);
    return reply.code(status).header("content-type", "application/json; charset=utf-8").send(json);
  };
}
