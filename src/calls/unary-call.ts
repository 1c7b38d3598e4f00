import { create, type DescMethod, type DescMethodUnary, type DescService, type Message } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext, Interceptor, UnaryRequest, UnaryResponse } from "@connectrpc/connect";
import { CallContext, type CallInit } from "./call-context.ts";
import type { Implementation } from "./service-table.ts";

export interface Reply {
  message: Message;
  /** The headers that the call has set; undefined where it has set none. */
  headers: Headers | undefined;
}

export type UnaryCall = (message: Message, init: CallInit) => Promise<Reply>;

type UnaryImplementation = (message: Message, context: HandlerContext) => Promise<Message> | Message;
type UnaryFn = (request: UnaryRequest) => Promise<UnaryResponse>;

/**
 * Makes unary calls of the same implementation, through the same interceptors, as the RPC protocols. The chain is composed
 * once, and a call makes only the objects that it needs.
 */
export function createUnaryCall(
  rpc: DescMethod,
  implementation: Implementation,
  interceptors: readonly Interceptor[],
): UnaryCall {
  if (!isUnary(rpc)) throw new Error(`${rpc.parent.typeName}.${rpc.name} is not unary.`);
  const invoke = implementation[rpc.localName] as UnaryImplementation | undefined;
  if (invoke === undefined) throw new Error(`${rpc.parent.typeName}.${rpc.name} has no implementation.`);

  const innermost: UnaryFn = async (request) => {
    const call = request as UnaryContext;
    return call.reply(create(rpc.output, await invoke.call(implementation, call.message, call)));
  };
  const chain = interceptors.reduceRight<UnaryFn>(
    (next, interceptor) => interceptor(next as never) as UnaryFn,
    innermost,
  );
  return async (message, init) => {
    const call = new UnaryContext(rpc, message, init);
    const reply = await chain(call);
    return { message: reply.message, headers: call.headersSet };
  };
}

function isUnary(rpc: DescMethod): rpc is DescMethod & DescMethodUnary {
  return rpc.methodKind === "unary";
}

/** Request and handler context in one object. */
class UnaryContext extends CallContext<DescMethodUnary> implements UnaryRequest {
  readonly stream = false as const;
  readonly message: Message;

  constructor(rpc: DescMethodUnary, message: Message, init: CallInit) {
    super(rpc, init);
    this.message = message;
  }

  get contextValues(): ContextValues {
    return this.values;
  }

  get header(): Headers {
    return this.requestHeader;
  }

  reply(message: Message): UnaryResponse {
    return new ContextReply(this, message);
  }

  get headersSet(): Headers | undefined {
    return this.metadata.headerSet;
  }
}

/**
 * A class, so that the getters stand on the prototype. An object literal with getters gets a hidden class of its own, which
 * V8 keeps in its old space together with the whole call until the next major collection.
 */
class ContextReply implements UnaryResponse {
  readonly stream = false as const;
  readonly message: Message;
  readonly #call: UnaryContext;

  constructor(call: UnaryContext, message: Message) {
    this.#call = call;
    this.message = message;
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
