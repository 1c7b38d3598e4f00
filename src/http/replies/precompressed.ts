import { hash } from "node:crypto";
import { SharedForms } from "../../calls/shared-forms.ts";
import type { RequestContext } from "../requests/context.ts";
import { chooseEncoding, compress } from "./compression.ts";
import { type HttpReply, matchesEtag } from "./reply.ts";

/** Levels above 9 take many times as long and save only a few percent. */
const level = 9;

/**
 * Content that does not change while the service runs. Each encoding is made when a client first accepts it, and is kept in
 * memory. The tags are strong, so each encoding has its own.
 */
export class Precompressed {
  readonly #body: Buffer;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #forms = new SharedForms();
  /** A digest of the content, in base64url. */
  readonly digest: string;

  /** @param headers the headers of every reply, such as content-type and cache-control */
  constructor(body: string | Buffer, headers: Readonly<Record<string, string>>) {
    this.#body = Buffer.from(body);
    this.#headers = headers;
    this.digest = hash("sha256", this.#body, "base64url").slice(0, 16);
  }

  /** The content in the best encoding that the client accepts, or 304 if the client has it already. */
  async reply({ request: { headers } }: RequestContext): Promise<HttpReply> {
    const encoding = chooseEncoding(headers["accept-encoding"]);
    const tag = `"${this.digest}-${encoding}"`;
    const fields: Record<string, string> = { ...this.#headers, etag: tag, vary: "accept-encoding" };
    const known = headers["if-none-match"];
    if (known !== undefined && matchesEtag(known, tag)) return { status: 304, fields };
    if (encoding === "identity") return { status: 200, fields, body: this.#body };
    fields["content-encoding"] = encoding;
    return { status: 200, fields, body: await this.#forms.get(encoding, () => compress[encoding](this.#body, level)) };
  }
}
