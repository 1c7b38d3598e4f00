import type { Message } from "@bufbuild/protobuf";
import { Checked } from "../../calls/checked.ts";
import type { Implementation, InterceptorsOf } from "../../calls/service-table.ts";
import { SharedForms } from "../../calls/shared-forms.ts";
import { createUnaryCall } from "../../calls/unary-call.ts";
import { type Binding, isTaggedRead } from "../../contract/bindings.ts";
import { createPartWarning, isHttpBody, responseOf } from "../../contract/responses.ts";
import { createTextLength } from "../../contract/text-length.ts";
import { encodeInParts, encoderOf, largeLength } from "../../transcoding/index.ts";
import { matchesEtag, weakTag } from "../replies/reply.ts";
import type { AnswerCall } from "./addresses.ts";

const jsonType = "application/json; charset=utf-8";

/** A response as it is sent. */
interface Encoded {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** An encoded response, and what is made of it once for all requests that share it. */
interface SharedBody extends Encoded {
  tag: string | undefined;
  /** Its compressed forms. */
  readonly forms: SharedForms | undefined;
}

/** @throws Error for an RPC without an implementation or one that REST cannot serve; the service then does not start */
export function createAnswer(
  binding: Binding,
  implementation: Implementation,
  interceptors: InterceptorsOf,
): AnswerCall {
  const call = createUnaryCall(binding.rpc, implementation, interceptors);
  const encode = createEncoder(binding);
  const isTagged = isTaggedRead(binding);
  const { desc, select } = responseOf(binding);
  const partWarning = createPartWarning(binding.rpc, desc);
  const { status } = binding;
  return async (context, { message, warnings: ignored }, init) => {
    const response = await call(message, init);
    context.noteReply(response);
    const forms = response.shared?.forms;
    const make = () => ({ ...encode(response.message), tag: undefined, forms: forms && new SharedForms() });
    const shared: SharedBody = forms?.get(encode, make) ?? make();
    const { contentType, bytes } = shared;
    const asked = message instanceof Checked ? message.message : message;
    const part = partWarning?.(asked, select(response.message));
    // Warnings are about one request alone. Responses that are not JSON have none.
    const warnings = part === undefined ? ignored : [...ignored, part];
    const isWarned = warnings.length > 0 && contentType === jsonType;
    const last = isWarned ? Buffer.from(`,"warnings":${JSON.stringify(warnings)}}`) : undefined;
    const fields: Record<string, string> = response.headers === undefined ? {} : Object.fromEntries(response.headers);
    if (isTagged && fields.etag === undefined && fields["cache-control"] === undefined) {
      shared.tag ??= weakTag(bytes);
      fields.etag = last === undefined ? shared.tag : weakTag(`${shared.tag}${last}`);
      fields["cache-control"] = "no-cache";
    }
    const known = context.request.headers["if-none-match"];
    if (fields.etag !== undefined && known !== undefined && matchesEtag(known, fields.etag)) {
      return { status: 304, fields };
    }
    fields["content-type"] = contentType;
    if (last === undefined) return { status, fields, body: bytes, forms: shared.forms };
    // The warnings take the place of the closing brace. A copy of up to 3 MB for each request would take too much memory.
    const begin = bytes.subarray(0, -1);
    if (bytes.length > largeLength) return { status, fields, body: begin, end: last };
    return { status, fields, body: Buffer.concat([begin, last]) };
  };
}

/**
 * How a binding's responses are encoded: JSON with `ok` first, or the bytes of a google.api.HttpBody as they are.
 * @throws Error for a response that REST cannot send; the service then does not start
 */
function createEncoder(binding: Binding): (message: Message) => Encoded {
  const { desc, select } = responseOf(binding);
  if (isHttpBody(desc)) {
    return (message) => {
      const { contentType, data } = select(message) as Message & { contentType: string; data: Uint8Array };
      const bytes = Buffer.from(data.buffer, data.byteOffset, data.length);
      return { contentType: contentType || "application/octet-stream", bytes };
    };
  }
  if (desc.fields.some(({ name }) => name === "warnings")) throw new Error(`${desc.typeName} may not have warnings.`);
  const textLength = createTextLength(desc);
  const encode = encoderOf(desc);
  return (message) => {
    const selected = select(message);
    const members: Record<string, unknown> = { ok: true, ...encode(selected) };
    const isLarge = textLength !== undefined && textLength(selected) > largeLength;
    return { contentType: jsonType, bytes: isLarge ? encodeInParts(members) : Buffer.from(JSON.stringify(members)) };
  };
}
