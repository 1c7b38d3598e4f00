import type { CallInit } from "../../calls/call.ts";
import type { Implementation, InterceptorsOf } from "../../calls/service-table.ts";
import { createUnaryCall } from "../../calls/unary-call.ts";
import { type Binding, isTaggedRead } from "../../contract/bindings.ts";
import { matchesEtag, weakTag } from "../replies/etag.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";
import type { CheckedRead } from "./addresses.ts";
import { createEncoder, endingWith } from "./encoding.ts";

/** Makes a unary call of a binding, and its reply. @throws ConnectError */
export type Answer = (context: RequestContext, read: CheckedRead, init: CallInit) => Promise<HttpReply>;

/** @throws Error for an RPC without an implementation or one that REST cannot serve; the service then does not start */
export function createAnswer(binding: Binding, implementation: Implementation, interceptors: InterceptorsOf): Answer {
  const call = createUnaryCall(binding.rpc, implementation, interceptors);
  const encode = createEncoder(binding);
  const isTagged = isTaggedRead(binding);
  const { status } = binding;
  return async (context, { message, warnings }, init) => {
    const response = await call(message, init);
    context.noteReply(response);
    const forms = response.shared?.forms;
    const make = () => encode(response.message);
    const encoded = forms === undefined ? make() : forms.get(encode, make);
    const last = warnings.length === 0 ? undefined : encoded.lastWith(warnings);
    const fields: Record<string, string> = response.headers === undefined ? {} : Object.fromEntries(response.headers);
    if (isTagged && fields.etag === undefined && fields["cache-control"] === undefined) {
      fields.etag = last === undefined ? encoded.tag : weakTag(`${encoded.tag}${last}`);
      fields["cache-control"] = "no-cache";
    }
    const known = context.request.headers["if-none-match"];
    if (fields.etag !== undefined && known !== undefined && matchesEtag(known, fields.etag)) {
      return { status: 304, fields };
    }
    fields["content-type"] = encoded.contentType;
    if (last === undefined) return { status, fields, body: encoded.bytes, forms: encoded.forms };
    // The bytes with warnings are about one request alone.
    return { status, fields, body: endingWith(encoded.bytes, last) };
  };
}
