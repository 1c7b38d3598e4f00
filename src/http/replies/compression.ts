import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { SharedForms } from "../../calls/shared-forms.ts";
import type { RequestContext } from "../requests/context.ts";

/** Shorter replies and messages are not compressed, in bytes. */
export const minCompressed = 1024;

/** Compresses a body. @param level up to 9; the higher, the slower and the smaller */
export const compress = {
  br: (body: Uint8Array, level = 4) =>
    promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: level } }),
  gzip: (body: Buffer, level = 6) => promisify(gzip)(body, { level }),
};

/** A body that is sent compressed. */
interface CompressedBody {
  encoding: keyof typeof compress;
  bytes: Buffer;
}

/**
 * Compresses the body of a reply as its client accepts it, once for all requests that share the response. It is compressed as
 * a whole: a compressing stream would hold the whole reply and the compressor's memory, up to many MB, until the client has
 * read everything.
 * @param fields the header fields of the reply: its content type is that of text, or `vary` says that it may be compressed
 * @param forms what has been made of the body for other requests; undefined where nobody shares it
 * @returns undefined where the body is sent as it is
 */
export function compressReply(
  { request: { headers } }: RequestContext,
  { "content-type": type = "", vary }: Readonly<Record<string, string>>,
  body: Buffer,
  forms: SharedForms | undefined,
): Promise<CompressedBody> | undefined {
  const accepted = headers["accept-encoding"];
  if (accepted === undefined || headers["x-no-compression"] !== undefined) return undefined;
  if (!/^text\/|[/+](?:json|xml)\b/.test(type) && vary !== "accept-encoding") return undefined;
  const encoding = chooseEncoding(accepted);
  if (encoding === "identity") return undefined;
  const make = async () => ({ encoding, bytes: await compress[encoding](body) });
  return forms?.get(encoding, make) ?? make();
}

/**
 * The best of our encodings that a client accepts (RFC 9110, section 12.5.3); every client is assumed to accept `identity`.
 * An old name of `gzip` is `x-gzip` (section 8.4.1.3).
 * @fastify/accept-negotiator is not used: it would send brotli to a client that accepts `br;q=0, *`.
 */
export function chooseEncoding(accepted: string | undefined): keyof typeof compress | "identity" {
  const taken = new Map<string, boolean>();
  for (const each of (accepted ?? "").toLowerCase().split(",")) {
    const coding = (each.split(";", 1)[0] as string).trim();
    taken.set(coding === "x-gzip" ? "gzip" : coding, !/;\s*q=0(?:\.0*)?\s*(?:;|$)/.test(each));
  }
  for (const coding of ["br", "gzip"] as const) if (taken.get(coding) ?? taken.get("*")) return coding;
  return "identity";
}
