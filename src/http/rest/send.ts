// The two ways in which the replies of the facade are sent: by Fastify, and beside it.
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RequestContext } from "../../calls/context.ts";
import { errorHeaders, toErrorBody } from "../../calls/error-mapping.ts";
import { errorStatus, type StoaError } from "../../errors.ts";
import { largeLength } from "../../transcoding/index.ts";
import { compressReply, minCompressed } from "../replies/compression.ts";
import { isOpen } from "../streams/exchange.ts";
import type { RestReply } from "./answer.ts";

/** Sends a reply by Fastify, whose hooks complete it. */
export function sendByFastify({ status, fields, body, last }: RestReply, request: FastifyRequest, reply: FastifyReply) {
  reply.code(status).headers(fields);
  if (body === undefined || last === undefined) return reply.send(body);
  const parts = partsOf(body, last);
  if (parts.length === 1) return reply.send(parts[0]);
  // The compression of so many bytes for each request would take too much memory.
  request.headers = { "x-no-compression": "" };
  reply.header("content-length", lengthOf(parts));
  return reply.send(Readable.from(parts, { objectMode: false }));
}

/** Sends a reply beside Fastify. @param common the further fields of its head, which stay as they are */
export async function sendDirectly(
  context: RequestContext,
  { status, fields, body, last }: RestReply,
  common: Record<string, string>,
): Promise<void> {
  const head = { ...common, ...context.response.getHeaders(), ...fields } as Record<string, string>;
  if (body === undefined) return write(context, status, head, []);
  const parts = last === undefined ? [body] : partsOf(body, last);
  const [only] = parts;
  if (only === undefined || parts.length > 1 || only.length < minCompressed) return write(context, status, head, parts);
  const { headers } = context.request;
  const compressing = compressReply(context, headers, head["content-type"] as string, only);
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
  context.outcome = error.code;
  const fields = { ...errorHeaders(error), "content-type": "application/json; charset=utf-8" };
  const body = Buffer.from(toErrorBody(error));
  return sendDirectly(context, { status: errorStatus[error.code], fields, body, last: undefined }, common);
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
