import type { Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { CallInit } from "../../calls/call-context.ts";
import type { Checked } from "../../calls/checked.ts";
import type { Implementation } from "../../calls/service-table.ts";
import { SharedForms } from "../../calls/shared-forms.ts";
import { createUnaryCall } from "../../calls/unary-call.ts";
import { type Binding, isTaggedRead } from "../../contract/bindings.ts";
import { responseOf } from "../../contract/responses.ts";
import { createTextLength } from "../../contract/text-length.ts";
import { encodeInParts, encodeMessage, largeLength, type ReadRequest } from "../../transcoding/index.ts";
import { matchesEtag, weakTag } from "../replies/etag.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";

/** Makes the call of a binding. @throws ConnectError */
export type Answer = (read: CheckedRead, init: CallInit, request: RequestContext) => Promise<HttpReply>;

/** A request as it was read, with a message that may be known to follow its rules. */
export type CheckedRead = Omit<ReadRequest, "message"> & { message: Message | Checked };

/** @throws Error for an RPC without an implementation or one that REST cannot serve; the service then does not start */
export function createAnswer(
  binding: Binding,
  implementation: Implementation,
  interceptors: readonly Interceptor[],
): Answer {
  const call = createUnaryCall(binding.rpc, implementation, interceptors);
  const encode = createEncoder(binding);
  const isTagged = isTaggedRead(binding);
  const { status } = binding;
  return async ({ message, warnings }, init, context) => {
    const response = await call(message, init);
    context.noteReply(response);
    const { request } = context;
    const forms = response.shared?.forms;
    const make = () => encode(response.message);
    const encoded = forms === undefined ? make() : forms.get(encode, make);
    const last = encoded.lastWith(warnings);
    const fields: Record<string, string> = response.headers === undefined ? {} : Object.fromEntries(response.headers);
    let tag = fields.etag;
    if (isTagged && tag === undefined && fields["cache-control"] === undefined) {
      tag = last === undefined ? encoded.tag : weakTag(`${encoded.tag}${last}`);
      fields.etag = tag;
      fields["cache-control"] = "no-cache";
    }
    if (tag && matchesEtag(request.headers["if-none-match"], tag)) {
      return { status: 304, fields };
    }
    fields["content-type"] = encoded.contentType;
    if (last === undefined) return { status, fields, body: encoded.bytes, forms: encoded.forms };
    // The bytes with warnings are about one request alone.
    return { status, fields, body: endingWith(encoded.bytes, last) };
  };
}

/** A body with `last` instead of its closing brace. A copy of up to 3 MB for each request would take too much memory. */
function endingWith(body: Buffer, last: Buffer): Buffer | Buffer[] {
  const begin = body.subarray(0, -1);
  return body.length <= largeLength ? Buffer.concat([begin, last]) : [begin, last];
}

type Encode = (message: Message) => EncodedResponse;

const jsonType = "application/json; charset=utf-8";

/** A response as it is sent. */
class EncodedResponse {
  readonly contentType: string;
  readonly bytes: Buffer;
  #tag: string | undefined;
  #forms: SharedForms | undefined;

  constructor(contentType: string, bytes: Buffer) {
    this.contentType = contentType;
    this.bytes = bytes;
  }

  /**
   * The end of these bytes for a request with warnings, instead of the closing brace. Warnings are about one request alone.
   * @returns undefined without warnings; responses that are not JSON have none
   */
  lastWith(warnings: readonly string[]): Buffer | undefined {
    if (warnings.length === 0 || this.contentType !== jsonType) return undefined;
    return Buffer.from(`,"warnings":${JSON.stringify(warnings)}}`);
  }

  /** What has been made of these bytes: their compressed forms. */
  get forms(): SharedForms {
    this.#forms ??= new SharedForms();
    return this.#forms;
  }

  /** The entity tag of these bytes, which is made once. */
  get tag(): string {
    this.#tag ??= weakTag(this.bytes);
    return this.#tag;
  }
}

/** How a binding's responses are encoded: JSON with `ok` first, or the bytes of a google.api.HttpBody as they are. */
function createEncoder(binding: Binding): Encode {
  const { desc, select } = responseOf(binding);
  if (desc.typeName === "google.api.HttpBody") {
    return (message) => {
      const { contentType, data } = select(message) as Message & { contentType: string; data: Uint8Array };
      return new EncodedResponse(contentType || "application/octet-stream", Buffer.from(data));
    };
  }
  if (desc.fields.some(({ name }) => name === "warnings")) throw new Error(`${desc.typeName} may not have warnings.`);
  const textLength = createTextLength(desc);
  return (message) => {
    const selected = select(message);
    const members: Record<string, unknown> = { ok: true, ...encodeMessage(desc, selected) };
    const isLarge = textLength !== undefined && textLength(selected) > largeLength;
    const bytes = isLarge ? encodeInParts(members) : Buffer.from(JSON.stringify(members));
    return new EncodedResponse(jsonType, bytes);
  };
}
