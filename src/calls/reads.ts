import type { DescField, DescMethod, Message } from "@bufbuild/protobuf";
import type { Interceptor, UnaryResponse } from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { defaultOf } from "../contract/defaults.ts";
import { oneofMember } from "../contract/oneof-member.ts";
import { needsAgent, rulesOf } from "../contract/rules.ts";
import { createTextLength } from "../contract/text-length.ts";
import type { Call } from "./call.ts";
import { boundLargeReads, largeLength } from "./large-reads.ts";
import type { InterceptorsOf, ServiceTable } from "./service-table.ts";
import { type FormsOf, LatestResponses, SharedForms } from "./shared-forms.ts";
import { SharedReads } from "./shared-reads.ts";
import { ContextReply, UnaryContext } from "./unary-call.ts";

/** What callers share: the response, for whose call it was made, and what they make of it. */
interface SharedReply {
  readonly message: Message;
  readonly headers: Headers | undefined;
  /** Undefined where the caller shares it with nobody. */
  readonly maker: Call | undefined;
  readonly bodies: SharedForms | undefined;
  /** Looked up by the first caller, for all who share the reply. */
  forms: SharedForms | undefined;
}

/**
 * The interceptors that bound what reads cost: identical public reads that wait share one read and its response, and replies
 * with lists are made in turns. They must be the innermost of their chain.
 */
export function boundReads(table: ServiceTable): InterceptorsOf {
  const latest = new LatestResponses();
  const turnsOf = boundLargeReads(table);
  // Callers of an RPC share whatever their protocols are.
  const sharing = new Map<DescMethod, Interceptor[]>();
  for (const rpc of table.services.flatMap(({ service }) => service.methods)) {
    const isShared = rpc.methodKind === "unary" && isShareable(rpc) && !table.sharing.includes(rpc);
    if (isShared) sharing.set(rpc, [shareReads(rpc, latest.of(rpc))]);
  }
  return (rpc) => [...(sharing.get(rpc) ?? []), ...turnsOf(rpc)];
}

/**
 * Lets the calls of a public read share. Reads are identical if their requests mean the same, whatever their protocol and
 * spelling. Limits, logs and request ids stay each caller's own.
 */
function shareReads(rpc: DescMethod, formsOf: FormsOf): Interceptor {
  const keyOf = createKey(rpc.input.fields);
  const own = rpc.input.fields.filter(needsAgent).map(({ localName }) => localName);
  const textLength = createTextLength(rpc.output) ?? (() => 0);
  const reads = new SharedReads<SharedReply>(({ message }) => textLength(message) > largeLength);
  return (next) => async (request) => {
    if (!(request instanceof UnaryContext)) return next(request);
    const asked = request.message as Message & Record<string, unknown>;
    for (const name of own) {
      // The response is for this caller alone.
      if (asked[name]) return next(request);
    }
    const { call, signal } = request;
    const key = keyOf(asked);
    const make = async (many?: AbortSignal): Promise<SharedReply> => {
      const read = many === undefined ? request : request.forMany(many);
      const { message } = (await next(read)) as UnaryResponse;
      const headers = read.metadata?.headerSet;
      return { message, headers, maker: many && call, bodies: many && new SharedForms(), forms: undefined };
    };
    const reply = await reads.get(key, { signal, make });
    const { message, maker, headers, bodies } = reply;
    // After the read, because the next read waits for its end.
    reply.forms ??= formsOf(key, message, maker !== undefined);
    if (maker !== undefined && headers !== undefined) {
      for (const [name, value] of headers) request.responseHeader.set(name, value);
    }
    return new ContextReply(request, message, {
      forms: reply.forms,
      bodies,
      isShared: maker !== undefined && maker !== call,
    });
  };
}

/** Whether an RPC is a read whose response depends on its request and on what is stored, and on nothing else. */
function isShareable(rpc: DescMethod): boolean {
  return (
    rulesOf(rpc).access === Access.PUBLIC &&
    !rulesOf(rpc).isWrite &&
    rpc.input.fields.every(({ fieldKind }) => fieldKind === "scalar" || fieldKind === "enum")
  );
}

/** Makes a function that says what a request means: an absent field means its default. */
function createKey(fields: readonly DescField[]): (message: Message) => string {
  const parts = fields.map((field) => [field.localName, field.oneof?.localName, defaultOf(field)] as const);
  return (message) => {
    let key = "";
    for (const [name, oneof, byDefault] of parts) {
      const value =
        oneof === undefined ? (message as Message & Record<string, unknown>)[name] : oneofMember(message, oneof, name);
      const text = value === undefined ? byDefault : String(value);
      // The length keeps values apart, whatever characters they hold.
      key += text === undefined ? "-" : `${text.length}:${text}`;
    }
    return key;
  };
}
