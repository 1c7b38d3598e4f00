import { hash } from "node:crypto";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isKnown } from "../http/replies/etag.ts";

/** Pages may be shown again for so many seconds without asking; after that the tag tells whether they have changed. */
const freshSeconds = 10;

/** Sends a text that may be kept for a moment, or says that the client has this very text. */
export function sendText(
  request: FastifyRequest,
  reply: FastifyReply,
  text: string,
  headers: Readonly<Record<string, string>>,
): FastifyReply {
  // Weak, since compression makes other bytes of it.
  const tag = `W/"${hash("sha1", text, "base64url")}"`;
  reply.headers(headers).header("etag", tag).header("cache-control", `public, max-age=${freshSeconds}`);
  if (isKnown(request.headers["if-none-match"], tag)) return reply.code(304).send();
  return reply.code(200).send(text);
}
