import type { IncomingHttpHeaders } from "node:http";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyInstance } from "fastify";
import type { RequestContext } from "../../calls/context.ts";
import { SharedForms } from "../../calls/shared-forms.ts";
import { noteReplyLength } from "../port/reply-lengths.ts";
import { chooseEncoding } from "./precompressed.ts";

/** Shorter replies are not compressed, in bytes. */
export const minCompressed = 1024;

const compress = {
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};

/** A body that is sent compressed. */
export interface CompressedBody {
  encoding: keyof typeof compress;
  bytes: Buffer;
}

/**
 * Compresses large replies as a whole before they are sent. A compressing stream would hold the whole reply and the
 * compressor's memory, up to many MB, until the client has read everything. Call this before registering @fastify/compress,
 * which skips replies that have an encoding.
 */
export function compressLargeReplies(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const { context } = request;
    const isText = typeof payload === "string";
    if ((!isText && !Buffer.isBuffer(payload)) || payload.length < minCompressed) return done(null, payload);
    if (reply.hasHeader("content-encoding")) return done(null, payload);
    const type = String(reply.getHeader("content-type"));
    const compressed = compressReply(context, request.headers, type, payload);
    if (compressed === undefined) return done(null, payload);
    compressed.then(({ encoding, bytes }) => {
      const vary = [reply.getHeader("vary") ?? [], "accept-encoding"].flat().join(", ");
      reply.header("content-encoding", encoding).header("vary", vary).removeHeader("content-length");
      done(null, bytes);
    }, done);
  });
}

/**
 * Compresses the body of a reply as its client accepts it, once for all requests that share the response.
 * @param type the content type of the reply
 * @param forms what has been made of the body; by default, that is shared by the requests of one read
 * @returns undefined where the body is sent as it is
 */
export function compressReply(
  { response, sharedBodies }: RequestContext,
  headers: IncomingHttpHeaders,
  type: string,
  body: string | Buffer,
  forms = sharedBodies?.get(body, () => new SharedForms()),
): Promise<CompressedBody> | undefined {
  const accepted = headers["accept-encoding"];
  if (accepted === undefined || headers["x-no-compression"] !== undefined) return undefined;
  if (!/^text\/|[/+](?:json|xml)\b/.test(type)) return undefined;
  const encoding = chooseEncoding(accepted);
  if (encoding === "identity") return undefined;
  noteReplyLength(response, body.length);
  const make = async () => ({
    encoding,
    bytes: await compress[encoding](typeof body === "string" ? Buffer.from(body) : body),
  });
  return forms?.get(encoding, make) ?? make();
}
