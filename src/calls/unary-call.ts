import { create, type DescMethod, type DescMethodUnary, type DescService, type Message } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext, UnaryRequest, UnaryResponse } from "@connectrpc/connect";
import { bodyCutOf } from "../contract/body-cut.ts";
import { parties } from "../timing/parties.ts";
import { CallContext, type CallInit } from "./call.ts";
import { Checked } from "./checked.ts";
import type { Implementation, InterceptorsOf } from "./service-table.ts";
import type { SharedForms } from "./shared-forms.ts";

/** What callers of the same read share. */
export interface Shared {
  /** What has been made of the response, such as its JSON, also for later reads with the same result; undefined if not kept. */
  readonly forms: SharedForms | undefined;
  /** What is made of the response for the callers of this one read, such as pages. It is not kept for later reads. */
  readonly bodies: SharedForms | undefined;
  /** Whether the response was made for another call. */
  readonly isShared: boolean;
}

/** The header of a response that was stored by an earlier call with the same idempotency key. */
export const replayedHeader = "Idempotency-Replayed";

export interface Reply {
  message: Message;
  /** The headers that the call has set; undefined where it has set none. */
  headers: Headers | undefined;
  /** Undefined for calls that share nothing. */
  shared: Shared | undefined;
}

export type UnaryCall = (message: Message | Checked, init: CallInit) => Promise<Reply>;

type UnaryImplementation = (message: Message, context: HandlerContext) => Promise<Message> | Message;
type UnaryFn = (request: UnaryRequest) => Promise<UnaryResponse>;

/**
 * Makes unary calls of the same implementation, through the same interceptors, as the RPC protocols. The chain is composed
 * once, and a call makes only the objects that it needs.
 */
export function createUnaryCall(
  rpc: DescMethod,
  implementation: Implementation,
  interceptors: InterceptorsOf,
): UnaryCall {
  if (!isUnary(rpc)) throw new Error(`${rpc.parent.typeName}.${rpc.name} is not unary.`);
  const invoke = implementation[rpc.localName] as UnaryImplementation | undefined;
  if (invoke === undefined) throw new Error(`${rpc.parent.typeName}.${rpc.name} has no implementation.`);

  const bodyCut = bodyCutOf(rpc);
  const innermost: UnaryFn = async (request) => {
    const call = request as UnaryContext;
    const { agent, origin } = call.call;
    parties.set(call.signal, agent ?? origin.client.counted);
    const message = create(rpc.output, await invoke.call(implementation, call.message, call));
    // Before the response is shared and measured.
    const chars = bodyCut && (call.message as Message & Record<string, unknown>)[bodyCut.field];
    if (chars !== undefined) bodyCut?.cut(message, Number(chars));
    return new ContextReply(call, message);
  };
  const chain = interceptors(rpc).reduceRight<UnaryFn>(
    (next, interceptor) => interceptor(next as never) as UnaryFn,
    innermost,
  );
  return async (message, init) => {
    const call = new UnaryContext(rpc, message, init);
    const reply = await chain(call);
    const { shared } = reply as ContextReply;
    return { message: reply.message, headers: call.metadata?.headerSet, shared };
  };
}

function isUnary(rpc: DescMethod): rpc is DescMethod & DescMethodUnary {
  return rpc.methodKind === "unary";
}

/** Request and handler context in one object. */
export class UnaryContext extends CallContext<DescMethodUnary> implements UnaryRequest {
  readonly stream = false as const;
  readonly message: Message;
  readonly contextValues: ContextValues;
  /** Whether the message is known to follow the rules of its fields. */
  readonly isChecked: boolean;
  readonly #init: CallInit;

  constructor(rpc: DescMethodUnary, message: Message | Checked, init: CallInit) {
    super(rpc, init);
    this.contextValues = this.values;
    this.isChecked = message instanceof Checked;
    this.message = message instanceof Checked ? message.message : message;
    this.#init = init;
  }

  /** The same call for several callers, without the headers of one. @param signal aborts when nobody waits any longer */
  forMany(signal: AbortSignal): UnaryContext {
    const { metadata: _, ...init } = this.#init;
    return new UnaryContext(this.method, this.message, { ...init, headers: () => new Headers(), signal });
  }

  get header(): Headers {
    return this.requestHeader;
  }
}

/**
 * The response to a call. Not an object literal with getters: each of those gets a hidden class of its own, which V8 keeps,
 * together with the whole call, until the next major collection.
 */
export class ContextReply implements UnaryResponse {
  readonly stream = false as const;
  readonly message: Message;
  readonly shared: Shared | undefined;
  readonly #call: UnaryContext;

  constructor(call: UnaryContext, message: Message, shared?: Shared) {
    this.#call = call;
    this.message = message;
    this.shared = shared;
  }

  get service(): DescService {
    return this.#call.service;
  }

  get method(): DescMethodUnary {
    return this.#call.method;
  }

  get header(): Headers {
    return this.#call.responseHeader;
  }

  get trailer(): Headers {
    return this.#call.responseTrailer;
  }
}
