import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyInstance } from "fastify";
import { SharedForms } from "../../calls/shared-forms.ts";
import { noteReplyLength } from "../port/reply-lengths.ts";
import { chooseEncoding } from "./precompressed.ts";

/** Replies of at least this length, in characters, are compressed here. @fastify/compress compresses shorter ones. */
const LARGE = 16 * 1024;
/** Shorter replies are not compressed, in bytes. */
export const minCompressed = 1024;

const compress = {
  br: (body: Buffer) => promisify(brotliCompress)(body, { params: { [constants.BROTLI_PARAM_QUALITY]: 4 } }),
  gzip: (body: Buffer) => promisify(gzip)(body),
};

/**
 * Compresses large replies as a whole before they are sent. A compressing stream would hold the whole reply and the
 * compressor's memory, up to many MB, until the client has read everything. Call this before registering @fastify/compress,
 * which skips replies that have an encoding.
 */
export function compressLargeReplies(app: FastifyInstance): void {
  app.addHook("onSend", (request, reply, payload, done) => {
    const isText = typeof payload === "string";
    const { sharedForms } = request.context;
    // A response that several requests share is compressed once for all of them.
    const minLength = sharedForms === undefined ? LARGE : minCompressed;
    if ((!isText && !Buffer.isBuffer(payload)) || payload.length < minLength) return done(null, payload);
    const accepted = request.headers["accept-encoding"];
    if (accepted === undefined || reply.hasHeader("content-encoding")) return done(null, payload);
    if (request.headers["x-no-compression"] !== undefined) return done(null, payload);
    if (!/^text\/|[/+](?:json|xml)\b/.test(String(reply.getHeader("content-type")))) return done(null, payload);
    const encoding = chooseEncoding(accepted);
    if (encoding === "identity") return done(null, payload);
    noteReplyLength(reply.raw, payload.length);
    const make = () => compress[encoding](isText ? Buffer.from(payload) : (payload as Buffer));
    const form = sharedForms?.get(payload, () => new SharedForms()).get(encoding, make) ?? make();
    form.then((compressed) => {
      const vary = [reply.getHeader("vary") ?? [], "accept-encoding"].flat().join(", ");
      reply.header("content-encoding", encoding).header("vary", vary).removeHeader("content-length");
      done(null, compressed);
    }, done);
  });
}
