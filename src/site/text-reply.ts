import { SharedForms } from "../calls/shared-forms.ts";
import { type HttpReply, matchesEtag, weakTag } from "../http/replies/reply.ts";
import type { RequestContext } from "../http/requests/context.ts";

/** How long browsers may reuse a page without asking, in seconds. After that the ETag tells whether it has changed. */
const freshSeconds = 10;
/** How many pages of one read are kept for the requests that share it. Clients can spell one address in many ways. */
const maxPages = 8;

/** A text as it is sent, with its entity tag. Both are made once. */
export class EncodedText {
  readonly bytes: Buffer;
  readonly tag: string;
  /** What has been made of the bytes: their compressed forms. */
  readonly forms = new SharedForms();

  constructor(text: string) {
    this.bytes = Buffer.from(text);
    this.tag = weakTag(this.bytes);
  }
}

/**
 * The page that another request has made of the same read, or a new one.
 * @param bodies what requests that share a read have in common; undefined for a read that nobody shares
 * @param name tells pages of the same read apart
 */
export function sharedPage(bodies: SharedForms | undefined, name: string, make: () => EncodedText): EncodedText {
  const pages = bodies?.get("pages", () => new Map<string, EncodedText>());
  const known = pages?.get(name);
  if (known !== undefined) return known;
  const made = make();
  if (pages !== undefined && pages.size < maxPages) pages.set(name, made);
  return made;
}

/** A text that clients may cache for a moment, or 304 if the client has this text already. */
export function textReply(
  { request }: RequestContext,
  text: string | EncodedText,
  headers: Readonly<Record<string, string>>,
): HttpReply {
  const { bytes, tag, forms } = typeof text === "string" ? { bytes: text, tag: weakTag(text), forms: undefined } : text;
  const fields = { ...headers, etag: tag, "cache-control": `public, max-age=${freshSeconds}` };
  if (matchesEtag(request.headers["if-none-match"], tag)) return { status: 304, fields };
  return { status: 200, fields, body: bytes, forms };
}
