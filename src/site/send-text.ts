import type { FastifyReply, FastifyRequest } from "fastify";
import { matchesEtag, weakTag } from "../http/replies/etag.ts";

/** How long browsers may reuse a page without asking, in seconds. After that the ETag tells whether it has changed. */
const freshSeconds = 10;

/** A text as it is sent, with its entity tag. Both are made once. */
export class EncodedText {
  readonly bytes: Buffer;
  readonly tag: string;

  constructor(text: string) {
    this.bytes = Buffer.from(text);
    this.tag = weakTag(this.bytes);
  }
}

/** Sends a text that clients may cache for a moment, or 304 if the client has this text already. */
export function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string | EncodedText,
  headers: Readonly<Record<string, string>>,
): FastifyReply {
  const { bytes, tag } = typeof text === "string" ? { bytes: text, tag: weakTag(text) } : text;
  reply.headers(headers).header("etag", tag).header("cache-control", `public, max-age=${freshSeconds}`);
  if (matchesEtag(request.headers["if-none-match"], tag)) return reply.code(304).send();
  return reply.code(200).send(bytes);
}
