// The two ways in which the replies of the facade are sent: by Fastify, and beside it.
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RequestContext } from "../../calls/context.ts";
import { errorHeaders, toErrorBody } from "../../calls/error-mapping.ts";
import { SharedForms } from "../../calls/shared-forms.ts";
import { errorStatus, type StoaError } from "../../errors.ts";
import { largeLength } from "../../transcoding/index.ts";
import { compressReply, minCompressed } from "../replies/compression.ts";
import { isOpen } from "../streams/exchange.ts";
import { EncodedResponse, jsonType, type RestReply } from "./answer.ts";

/** Sends a reply by Fastify, whose hooks complete it. */
export function sendByFastify(
  { status, fields, encoded, last }: RestReply,
  request: FastifyRequest,
  reply: FastifyReply,
) {
  reply.code(status).headers(fields);
  if (encoded === undefined || last === undefined) return reply.send(encoded?.bytes);
  const parts = partsOf(encoded.bytes, last);
  if (parts.length === 1) return reply.send(parts[0]);
  // The compression of so many bytes for each request would take too much memory.
  request.headers = { "x-no-compression": "" };
  reply.header("content-length", lengthOf(parts));
  return reply.send(Readable.from(parts, { objectMode: false }));
}

/** Sends a reply beside Fastify. @param common the further fields of its head, which stay as they are */
export async function sendDirectly(
  context: RequestContext,
  { status, fields, encoded, last }: RestReply,
  common: Record<string, string>,
): Promise<void> {
  const head = { ...common, ...context.response.getHeaders(), ...fields } as Record<string, string>;
  if (encoded === undefined) return write(context, status, head, []);
  const parts = last === undefined ? [encoded.bytes] : partsOf(encoded.bytes, last);
  const [only] = parts;
  if (only === undefined || parts.length > 1 || only.length < minCompressed) return write(context, status, head, parts);
  // The bytes with warnings are about one request alone.
  const forms = last === undefined ? encoded.forms : new SharedForms();
  const compressing = compressReply(context, context.request.headers, encoded.contentType, only, forms);
  if (compressing === undefined) return write(context, status, head, parts);
  const { encoding, bytes } = await compressing;
  head["content-encoding"] = encoding;
  head.vary = "accept-encoding";
  write(context, status, head, [bytes]);
}

/** Sends a failure in the Error shape, beside Fastify. @param common the further fields of its head */
export function sendFailureDirectly(
  context: RequestContext,
  error: StoaError,
  common: Record<string, string>,
): Promise<void> {
  const encoded = new EncodedResponse(jsonType, Buffer.from(toErrorBody(error)));
  const fields = { ...errorHeaders(error), "content-type": jsonType };
  return sendDirectly(context, { status: errorStatus[error.code], fields, encoded, last: undefined }, common);
}

function write({ response, limits }: RequestContext, status: number, head: Record<string, string>, parts: Buffer[]) {
  if (!isOpen(response)) return;
  Object.assign(head, limits.fields());
  if (parts.length > 0) head["content-length"] = String(lengthOf(parts));
  response.writeHead(status, head);
  for (const part of parts.slice(0, -1)) response.write(part);
  response.end(parts.at(-1));
}

/** A body with `last` instead of its closing brace. A copy of up to 3 MB for each request would take too much memory. */
function partsOf(body: Buffer, last: Buffer): Buffer[] {
  const begin = body.subarray(0, -1);
  return body.length <= largeLength ? [Buffer.concat([begin, last])] : [begin, last];
}

function lengthOf(parts: readonly Buffer[]): number {
  return parts.reduce((sum, { length }) => sum + length, 0);
}
