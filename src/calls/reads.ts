import type { DescField, DescMethod, Message } from "@bufbuild/protobuf";
import type { HandlerContext } from "@connectrpc/connect";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { defaultOf } from "../contract/defaults.ts";
import { accessOf, isWrite } from "../contract/rules.ts";
import { createTextLength } from "../contract/text-length.ts";
import { CallContext, type CallInit } from "./call-context.ts";
import { type RequestContext, requestOf } from "./context.ts";
import { boundLargeReads, largeLength } from "./large-reads.ts";
import { type LatestOfRpc, LatestResponses } from "./latest-responses.ts";
import type { ServiceTable } from "./service-table.ts";
import { SharedForms } from "./shared-forms.ts";
import { SharedReads } from "./shared-reads.ts";
import { createUnaryCall, type Reply, type UnaryCall } from "./unary-call.ts";

/** What callers share: the response, for whose request it was made, and what they make of it. */
type SharedReply = Reply & { maker?: RequestContext; forms?: SharedForms; bodies?: SharedForms };
type Invoke = (message: Message, context: HandlerContext) => Promise<Message>;

/**
 * The same services, with a bound on what reads cost: identical public reads that wait share one read and its response, and
 * replies with lists are made in turns (`boundLargeReads`). Reads are identical if their requests mean the same, whatever
 * their protocol and spelling. Limits, logs and request ids stay each caller's own.
 * @throws Error where an implementation is missing
 */
export function boundReads(table: ServiceTable): ServiceTable {
  const turns = [boundLargeReads(table)];
  const latest = new LatestResponses();
  const services = table.services.map(({ service, implementation }) => {
    const bounded: Record<string, unknown> = { ...implementation };
    for (const rpc of service.methods.filter(({ methodKind }) => methodKind === "unary")) {
      const isShared = isShareable(rpc) && !table.sharing.includes(rpc);
      if (!isShared && createTextLength(rpc.output) === undefined) continue;
      const call = createUnaryCall(rpc, implementation, turns);
      bounded[rpc.localName] = toInvoke(isShared ? share(rpc, call, latest.of(rpc)) : call);
    }
    return { service, implementation: bounded };
  });
  return { ...table, services };
}

function share(
  rpc: DescMethod,
  call: UnaryCall,
  latest: LatestOfRpc,
): (message: Message, init: CallInit) => Promise<SharedReply> {
  const keyOf = createKey(rpc.input.fields);
  const textLength = createTextLength(rpc.output) ?? (() => 0);
  const reads = new SharedReads<SharedReply>(({ message }) => textLength(message) > largeLength);
  return async (message, init) => {
    const key = keyOf(message);
    const together = async (signal: AbortSignal): Promise<SharedReply> => {
      const reply = await call(message, { ...init, headers: () => new Headers(), signal });
      return { ...reply, maker: init.request, bodies: new SharedForms() };
    };
    const alone = () => call(message, init);
    const reply = await reads.get(key, { signal: init.signal ?? init.request, alone, together });
    // Not within the read: the next one begins when it ends. The first caller does it for all who share the reply.
    if (reply.forms === undefined && (reply.maker !== undefined || latest.has(key))) {
      Object.assign(reply, latest.remember(key, reply.message));
    }
    return reply;
  };
}

/** Makes a call from within another call. */
function toInvoke(call: (message: Message, init: CallInit) => Promise<SharedReply>): Invoke {
  return async (message, context) => {
    const { requestMethod, url, values } = context;
    const request = requestOf(values);
    // The request stands for its signal, which is made only where it is needed.
    const signal = context instanceof CallContext ? context.ownSignal : context.signal;
    // Headers are made on first use, and reads hardly use them.
    const headers = () => context.requestHeader;
    const reply = await call(message, { method: requestMethod, url, headers, request, signal });
    if (reply.headers) for (const [name, value] of reply.headers) context.responseHeader.set(name, value);
    request.sharedForms = reply.forms;
    request.sharedBodies = reply.bodies;
    request.isShared = reply.maker !== undefined && reply.maker !== request;
    return reply.message;
  };
}

/** Whether an RPC is a read whose response depends on its request and on what is stored, and on nothing else. */
function isShareable(rpc: DescMethod): boolean {
  return (
    accessOf(rpc) === Access.PUBLIC &&
    !isWrite(rpc) &&
    rpc.input.fields.every(({ fieldKind }) => fieldKind === "scalar" || fieldKind === "enum")
  );
}

/** Makes a function that says what a request means: an absent field means its default. */
function createKey(fields: readonly DescField[]): (message: Message) => string {
  const parts = fields.map((field) => [field.localName, defaultOf(field)] as const);
  return (message) => {
    let key = "";
    for (const [name, byDefault] of parts) {
      const value = (message as Message & Record<string, unknown>)[name];
      const text = value === undefined ? byDefault : String(value);
      // The length keeps values apart, whatever characters they hold.
      key += text === undefined ? "-" : `${text.length}:${text}`;
    }
    return key;
  };
}
