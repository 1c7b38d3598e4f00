import { Readable } from "node:stream";
import type { Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { CallInit } from "../../calls/call-context.ts";
import type { Implementation } from "../../calls/service-table.ts";
import { createStreamCall, isServerStreaming } from "../../calls/stream-call.ts";
import { createUnaryCall } from "../../calls/unary-call.ts";
import { type Binding, isTaggedRead } from "../../contract/bindings.ts";
import { responseOf } from "../../contract/responses.ts";
import { createTextLength } from "../../contract/text-length.ts";
import { encodeInParts, encodeMessage, largeLength, type ReadRequest } from "../../transcoding/index.ts";
import { matchesEtag, weakTag } from "../replies/etag.ts";
import { asEvents, asLines, sendStream, wantsEvents } from "./stream.ts";

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
  const encode = createEncoder(binding);
  const isTagged = isTaggedRead(binding);
  return async ({ message, warnings }, init, request, reply) => {
    const response = await call(message, init);
    if (response.headers) for (const [name, value] of response.headers) reply.header(name, value);
    const { sharedForms } = request.context;
    const make = () => encode(response.message);
    const encoded = sharedForms === undefined ? make() : sharedForms.get(encode, make);
    const last = encoded.lastWith(warnings);
    let tag = response.headers?.get("etag");
    if (isTagged && tag == null && !response.headers?.has("cache-control")) {
      tag = last === undefined ? encoded.tag : weakTag(`${encoded.tag}${last}`);
      reply.header("etag", tag).header("cache-control", "no-cache");
    }
    if (tag && matchesEtag(request.raw.headers["if-none-match"], tag)) return reply.code(304).send();
    reply.code(binding.status).header("content-type", encoded.contentType);
    return last === undefined ? reply.send(encoded.bytes) : sendWithLast(encoded.bytes, last, request, reply);
  };
}

function serveStream(
  binding: Binding,
  call: ReturnType<typeof createStreamCall>,
  heartbeatMs: number | undefined,
): Serve {
  const { desc, select } = responseOf(binding);
  const lines = asLines(desc, select);
  const events = asEvents(desc, select);
  return async ({ message }, init, request, reply) => {
    const messages = await call(message, init);
    return sendStream(request, reply, wantsEvents(request) ? events : lines, messages, heartbeatMs);
  };
}

type Encode = (message: Message) => EncodedResponse;

const jsonType = "application/json; charset=utf-8";

/** A response as it is sent. */
class EncodedResponse {
  readonly contentType: string;
  readonly bytes: Buffer;
  #tag: string | undefined;

  constructor(contentType: string, bytes: Buffer) {
    this.contentType = contentType;
    this.bytes = bytes;
  }

  /**
   * The end of these bytes for a request with warnings, instead of the closing brace. Warnings are about one request alone.
   * @returns undefined without warnings; responses that are not JSON have none
   */
  lastWith(warnings: readonly string[]): Buffer | undefined {
    if (warnings.length === 0 || this.contentType !== jsonType) return undefined;
    return Buffer.from(`,"warnings":${JSON.stringify(warnings)}}`);
  }

  /** The entity tag of these bytes, which is made once. */
  get tag(): string {
    this.#tag ??= weakTag(this.bytes);
    return this.#tag;
  }
}

/** Sends bytes, with `last` instead of the closing brace. */
function sendWithLast(bytes: Buffer, last: Buffer, request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const begin = bytes.subarray(0, -1);
  if (bytes.length <= largeLength) return reply.send(Buffer.concat([begin, last]));
  // A copy of up to 3 MB for each request would take too much memory, and so would its compression.
  request.headers = { "x-no-compression": "" };
  reply.header("content-length", begin.length + last.length);
  return reply.send(Readable.from([begin, last], { objectMode: false }));
}

/** How a binding's responses are encoded: JSON with `ok` first, or the bytes of a google.api.HttpBody as they are. */
function createEncoder(binding: Binding): Encode {
  const { desc, select } = responseOf(binding);
  if (desc.typeName === "google.api.HttpBody") {
    return (message) => {
      const { contentType, data } = select(message) as Message & { contentType: string; data: Uint8Array };
      return new EncodedResponse(contentType || "application/octet-stream", Buffer.from(data));
    };
  }
  if (desc.fields.some(({ name }) => name === "warnings")) throw new Error(`${desc.typeName} may not have warnings.`);
  const textLength = createTextLength(desc);
  return (message) => {
    const selected = select(message);
    const members: Record<string, unknown> = { ok: true, ...encodeMessage(desc, selected) };
    const isLarge = textLength !== undefined && textLength(selected) > largeLength;
    const bytes = isLarge ? encodeInParts(members) : Buffer.from(JSON.stringify(members));
    return new EncodedResponse(jsonType, bytes);
  };
}
