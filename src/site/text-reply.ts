import { SharedForms } from "../calls/shared-forms.ts";
import { type HttpReply, matchesEtag, weakTag } from "../http/replies/reply.ts";
import type { RequestContext } from "../http/requests/context.ts";

/** How long browsers may reuse a page without asking, in seconds. After that the ETag tells whether it has changed. */
const freshSeconds = 10;

/** A text as it is sent, with its entity tag. Both are made once. */
export interface EncodedText {
  readonly bytes: Buffer;
  readonly tag: string;
  /** What has been made of the bytes: their compressed forms. */
  readonly forms: SharedForms;
}

export function encodeText(text: string): EncodedText {
  const bytes = Buffer.from(text);
  return { bytes, tag: weakTag(bytes), forms: new SharedForms() };
}

/** A text that clients may cache for a moment, or 304 if the client has this text already. */
export function textReply(
  { request }: RequestContext,
  text: string | EncodedText,
  headers: Readonly<Record<string, string>>,
): HttpReply {
  const { bytes, tag, forms } = typeof text === "string" ? { bytes: text, tag: weakTag(text), forms: undefined } : text;
  const fields = { ...headers, etag: tag, "cache-control": `public, max-age=${freshSeconds}` };
  const known = request.headers["if-none-match"];
  if (known !== undefined && matchesEtag(known, tag)) return { status: 304, fields };
  return { status: 200, fields, body: bytes, forms };
}
