import type { SharedForms } from "../../calls/shared-forms.ts";
import type { RequestContext } from "../requests/context.ts";
import { compressReply, minCompressed } from "./compression.ts";

/** A reply that is complete before it is sent. */
export interface HttpReply {
  readonly status: number;
  /** Header fields besides those that all replies have, by their lower-case names. */
  readonly fields: Readonly<Record<string, string>>;
  /** Parts are sent one after the other, and not compressed. */
  readonly body?: string | Buffer | readonly Buffer[] | undefined;
  /** What has been made of the body for other requests; undefined where nobody shares it. */
  readonly forms?: SharedForms | undefined;
}

/**
 * Sends a reply; the only place where complete replies are written. Compresses the body if it is long and the client accepts
 * that. Does nothing for a client that has disconnected.
 * @param common the header fields that all replies have
 */
export async function sendReply(
  context: RequestContext,
  reply: HttpReply,
  common: Readonly<Record<string, string>>,
): Promise<void> {
  const head: Record<string, string> = { ...common, ...reply.fields };
  let body = typeof reply.body === "string" ? Buffer.from(reply.body) : reply.body;
  if (Buffer.isBuffer(body) && body.length >= minCompressed && head["content-encoding"] === undefined) {
    const compressed = await compressReply(context, head["content-type"] ?? "", body, reply.forms);
    if (compressed !== undefined) {
      head["content-encoding"] = compressed.encoding;
      head.vary = head.vary === undefined ? "accept-encoding" : `${head.vary}, accept-encoding`;
      body = compressed.bytes;
    }
  }
  Object.assign(head, context.limits.fields());
  if (body !== undefined) head["content-length"] = String(lengthOf(body));
  if (context.isOpen) write(context, reply.status, head, body);
}

function write(
  { request, response }: RequestContext,
  status: number,
  head: Record<string, string>,
  body: Buffer | readonly Buffer[] | undefined,
): void {
  if (body === undefined || body.length === 0 || request.method === "HEAD") {
    // Not by `writeHead`: over HTTP/2, the frame of the head then ends the stream, as gRPC asks of a reply without a body.
    response.statusCode = status;
    for (const [name, value] of Object.entries(head)) response.setHeader(name, value);
    response.end();
    return;
  }
  response.writeHead(status, head);
  if (Buffer.isBuffer(body)) response.end(body);
  else {
    for (const part of body.slice(0, -1)) response.write(part);
    response.end(body.at(-1));
  }
}

function lengthOf(body: Buffer | readonly Buffer[]): number {
  return Buffer.isBuffer(body) ? body.length : body.reduce((sum, { length }) => sum + length, 0);
}
