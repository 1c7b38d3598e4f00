import type { SharedForms } from "../../calls/shared-forms.ts";
import type { RequestContext } from "../requests/context.ts";
import { isOpen } from "../requests/exchange.ts";
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
  const { request, limits } = context;
  const head: Record<string, string> = { ...common, ...reply.fields };
  let parts = partsOf(reply.body);
  const compressing = parts.length === 1 ? compress(context, reply, parts[0] as Buffer) : undefined;
  if (compressing !== undefined) {
    const { encoding, bytes } = await compressing;
    head["content-encoding"] = encoding;
    head.vary = head.vary === undefined ? "accept-encoding" : `${head.vary}, accept-encoding`;
    parts = [bytes];
  }
  Object.assign(head, limits.fields());
  if (reply.body !== undefined) head["content-length"] = String(parts.reduce((sum, { length }) => sum + length, 0));
  write(context, reply.status, head, request.method === "HEAD" ? [] : parts);
}

function write(
  { response }: RequestContext,
  status: number,
  head: Record<string, string>,
  parts: readonly Buffer[],
): void {
  if (!isOpen(response)) return;
  if (parts.length === 0) {
    // Not by `writeHead`: over HTTP/2, the frame of the head then ends the stream, as gRPC asks of a reply without a body.
    response.statusCode = status;
    for (const [name, value] of Object.entries(head)) response.setHeader(name, value);
    response.end();
    return;
  }
  response.writeHead(status, head);
  for (const part of parts.slice(0, -1)) response.write(part);
  response.end(parts.at(-1));
}

function compress(context: RequestContext, { fields, forms }: HttpReply, body: Buffer) {
  if (body.length < minCompressed || fields["content-encoding"] !== undefined) return undefined;
  return compressReply(context, fields["content-type"] ?? "", body, forms);
}

function partsOf(body: HttpReply["body"]): readonly Buffer[] {
  if (body === undefined) return [];
  if (typeof body === "string") return [Buffer.from(body)];
  return Buffer.isBuffer(body) ? [body] : body;
}
