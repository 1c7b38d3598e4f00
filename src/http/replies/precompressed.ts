import { hash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { FastifyReply, FastifyRequest } from "fastify";
import { matchesEtag } from "./etag.ts";

type Encoding = "br" | "gzip" | "identity";

/** Levels above 9 take many times as long and save only a few percent. */
const brotliOptions = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
const compress: Record<Encoding, (body: Buffer) => Promise<Buffer>> = {
  br: (body) => promisify(brotliCompress)(body, brotliOptions),
  gzip: (body) => promisify(gzip)(body, { level: 9 }),
  identity: async (body) => body,
};

/**
 * Content that does not change while the service runs. Each encoding is made when a client first accepts it, and is kept in
 * memory. The tags are strong, so each encoding has its own. The route that sends it must not compress.
 */
export class Precompressed {
  readonly #body: Buffer;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #forms = new Map<Encoding, Promise<Buffer>>();
  /** A digest of the content, in base64url. */
  readonly digest: string;

  /** @param headers the headers of every reply, such as content-type and cache-control */
  constructor(body: string | Buffer, headers: Readonly<Record<string, string>>) {
    this.#body = Buffer.from(body);
    this.#headers = headers;
    this.digest = hash("sha256", this.#body, "base64url").slice(0, 16);
  }

  /** Sends the content in the best encoding that the client accepts, or 304 if the client has it already. */
  async send({ headers }: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    const encoding = chooseEncoding(headers["accept-encoding"]);
    const tag = `"${this.digest}-${encoding}"`;
    reply.headers(this.#headers).header("etag", tag).header("vary", "accept-encoding");
    if (matchesEtag(headers["if-none-match"], tag)) return reply.code(304).send();
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
 * The best of our encodings that a client accepts (RFC 9110, section 12.5.3); every client is taken to accept `identity`. An
 * old name of `gzip` is `x-gzip` (section 8.4.1.3).
 * @fastify/accept-negotiator is not used: it would send brotli to a client that accepts `br;q=0, *`.
 */
export function chooseEncoding(accepted: string | undefined): Encoding {
  const taken = new Map<string, boolean>();
  for (const each of (accepted ?? "").toLowerCase().split(",")) {
    const [coding = "", ...parameters] = each.split(";").map((part) => part.trim());
    taken.set(coding === "x-gzip" ? "gzip" : coding, !parameters.some((parameter) => /^q=0(?:\.0*)?$/.test(parameter)));
  }
  return (["br", "gzip"] as const).find((coding) => taken.get(coding) ?? taken.get("*") ?? false) ?? "identity";
}
