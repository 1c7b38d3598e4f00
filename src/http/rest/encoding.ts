import type { Message } from "@bufbuild/protobuf";
import { SharedForms } from "../../calls/shared-forms.ts";
import type { Binding } from "../../contract/bindings.ts";
import { responseOf } from "../../contract/responses.ts";
import { createTextLength } from "../../contract/text-length.ts";
import { encodeInParts, encodeMessage, largeLength } from "../../transcoding/index.ts";
import { weakTag } from "../replies/etag.ts";

const jsonType = "application/json; charset=utf-8";

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
   * @returns undefined for responses that are not JSON, which have none
   */
  lastWith(warnings: readonly string[]): Buffer | undefined {
    if (this.contentType !== jsonType) return undefined;
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

/**
 * How a binding's responses are encoded: JSON with `ok` first, or the bytes of a google.api.HttpBody as they are.
 * @throws Error for a response that REST cannot send; the service then does not start
 */
export function createEncoder(binding: Binding): (message: Message) => EncodedResponse {
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

/** A body with `last` instead of its closing brace. A copy of up to 3 MB for each request would take too much memory. */
export function endingWith(body: Buffer, last: Buffer): Buffer | Buffer[] {
  const begin = body.subarray(0, -1);
  return body.length <= largeLength ? Buffer.concat([begin, last]) : [begin, last];
}
