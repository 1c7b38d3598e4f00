import { hash } from "node:crypto";
import type { SharedForms } from "../../calls/shared-forms.ts";
import type { RequestContext } from "../requests/context.ts";
import { compressReply, minCompressed } from "./compression.ts";

/** A reply that is complete before it is sent. */
export interface HttpReply {
  readonly status: number;
  /** Header fields besides those that all replies have, by their lower-case names. */
  readonly fields: Readonly<Record<string, string>>;
  readonly body?: string | Buffer | undefined;
  /** What follows the body. A reply that has it is not compressed. */
  readonly end?: Buffer;
  /** What has been made of the body for other requests; undefined where nobody shares it. */
  readonly forms?: SharedForms | undefined;
}

/**
 * Sends a reply; the only place where complete replies are written. Compresses the body if it is long and the client accepts
 * that. Does nothing for a client that has disconnected.
 */
export async function sendReply(context: RequestContext, reply: HttpReply): Promise<void> {
  const head: Record<string, string> = { ...context.fields(), ...reply.fields };
  let body = typeof reply.body === "string" ? Buffer.from(reply.body) : reply.body;
  const { end } = reply;
  const mayCompress = end === undefined && head["content-encoding"] === undefined;
  if (mayCompress && body !== undefined && body.length >= minCompressed) {
    const compressed = await compressReply(context, head, body, reply.forms);
    if (compressed !== undefined) {
      head["content-encoding"] = compressed.encoding;
      if (head.vary === undefined) head.vary = "accept-encoding";
      else if (head.vary !== "accept-encoding") head.vary += ", accept-encoding";
      body = compressed.bytes;
    }
  }
  if (body !== undefined) head["content-length"] = String(body.length + (end?.length ?? 0));
  if (!context.isOpen) return;
  const { request, response } = context;
  response.statusCode = reply.status;
  // Not by `writeHead`: over HTTP/2, `end` can then send the head and the end of the stream in one frame, as gRPC asks.
  for (const [name, value] of Object.entries(head)) response.setHeader(name, value);
  if (request.method === "HEAD" || body === undefined || body.length === 0) response.end();
  else {
    if (end !== undefined) response.write(body);
    response.end(end ?? body);
  }
}

/** An entity tag of a reply. It is weak, because all content encodings of the reply share it. */
export function weakTag(body: string | Buffer): string {
  return `W/"${hash("sha1", body, "base64url")}"`;
}

/** Whether If-None-Match names this tag (RFC 9110, section 13.1.2: tags compare weakly). If so, the client has the reply. */
export function matchesEtag(ifNoneMatch: string, tag: string): boolean {
  const opaque = tag.replace(/^W\//, "");
  const tags = ifNoneMatch.split(",").map((each) => each.trim().replace(/^W\//, ""));
  return tags.includes("*") || tags.includes(opaque);
}
