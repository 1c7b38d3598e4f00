import type { Message } from "@bufbuild/protobuf";
import type { Interceptor } from "@connectrpc/connect";
import type { CallInit } from "../../calls/call-context.ts";
import type { Implementation } from "../../calls/service-table.ts";
import { SharedForms } from "../../calls/shared-forms.ts";
import { createUnaryCall } from "../../calls/unary-call.ts";
import { type Binding, isTaggedRead } from "../../contract/bindings.ts";
import { responseOf } from "../../contract/responses.ts";
import { createTextLength } from "../../contract/text-length.ts";
import { encodeInParts, encodeMessage, largeLength, type ReadRequest } from "../../transcoding/index.ts";
import { matchesEtag, weakTag } from "../replies/etag.ts";

/** The response of a call, before it is sent. */
export interface RestReply {
  status: number;
  fields: Record<string, string>;
  /** Undefined if the client has the response already. */
  encoded: EncodedResponse | undefined;
  /** What is sent instead of the closing brace, if the response is not sent as it is. */
  last: Buffer | undefined;
}

/** Makes the call of a binding. @throws ConnectError */
export type Answer = (read: ReadRequest, init: CallInit) => Promise<RestReply>;

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
  return async ({ message, warnings }, init) => {
    const response = await call(message, init);
    const { request, sharedForms } = init.request;
    const make = () => encode(response.message);
    const encoded = sharedForms === undefined ? make() : sharedForms.get(encode, make);
    const last = encoded.lastWith(warnings);
    const fields: Record<string, string> = response.headers === undefined ? {} : Object.fromEntries(response.headers);
    let tag = fields.etag;
    if (isTagged && tag === undefined && fields["cache-control"] === undefined) {
      tag = last === undefined ? encoded.tag : weakTag(`${encoded.tag}${last}`);
      fields.etag = tag;
      fields["cache-control"] = "no-cache";
    }
    if (tag && matchesEtag(request.headers["if-none-match"], tag)) {
      return { status: 304, fields, encoded: undefined, last: undefined };
    }
    fields["content-type"] = encoded.contentType;
    return { status, fields, encoded, last };
  };
}

type Encode = (message: Message) => EncodedResponse;

export const jsonType = "application/json; charset=utf-8";

/** A response as it is sent. */
export class EncodedResponse {
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
