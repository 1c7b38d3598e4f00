import { hash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { isKnown } from "./etag.ts";

type Encoding = "br" | "gzip" | "identity";

/** From 9 on, brotli takes many times as long for a few percent. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
const compress: Record<Encoding, (body: Buffer) => Promise<Buffer>> = {
  br: (body) => promisify(brotliCompress)(body, brotliOptions),
  gzip: (body) => promisify(gzip)(body, { level: 9 }),
  identity: async (body) => body,
};

/**
 * Something that stays the same while the service runs, held in memory in each form that clients have asked for: compressed
 * once, then only sent. Its tags are strong, so each form has its own. The route that sends it must not compress.
 */
export class Precompressed {
  readonly #body: Buffer;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #forms = new Map<Encoding, Promise<Buffer>>();
  /** Of the content, base64url. */
  readonly digest: string;

  /** @param headers its content type, how long it may be kept, and so on */
  constructor(body: string | Buffer, headers: Readonly<Record<string, string>>) {
    this.#body = Buffer.from(body);
    this.#headers = headers;
    this.digest = hash("sha256", this.#body, "base64url").slice(0, 16);
  }

  /** Sends it in the best form that the client takes, or 304 where it has that form already. */
  async send({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const encoding = chooseEncoding(headers["accept-encoding"]);
    const tag = `"${this.digest}-${encoding}"`;
    reply.headers(this.#headers).header("etag", tag).header("vary", "accept-encoding");
    if (isKnown(headers["if-none-match"], tag)) return reply.code(304).send();
    if (encoding !== "identity") reply.header("content-encoding", encoding);
    return reply.send(await this.#form(encoding));
  }

  #form(encoding: Encoding): Promise<Buffer> {
    let form = this.#forms.get(encoding);
    if (form === undefined) {
      form = compress[encoding](this.#body);
      this.#forms.set(encoding, form);
    }
    return form;
  }
}

/**
 * The best of our encodings that a client accepts (RFC 9110, section 12.5.3); every client is taken to accept `identity`.
 * @fastify/accept-negotiator is not used: it would send brotli to a client that accepts `br;q=0, *`.
 */
export function chooseEncoding(accepted: string | undefined): Encoding {
  const taken = new Map<string, boolean>();
  for (const each of (accepted ?? "").toLowerCase().split(",")) {
    const [coding = "", ...parameters] = each.split(";").map((part) => part.trim());
    taken.set(coding, !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)));
  }
  return (["br", "gzip"] as const).find((coding) => taken.get(coding) ?? taken.get("*") ?? false) ?? "identity";
}
