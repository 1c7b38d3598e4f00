import { create, type DescMethod, type DescMethodUnary, type DescService, type Message } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext, Interceptor, UnaryRequest, UnaryResponse } from "@connectrpc/connect";
import { contextValuesOf, type RequestContext } from "./context.ts";
import type { Implementation } from "./service-table.ts";

/** The headers and trailers that a call sets for its response. Each is made on first use. */
export class ResponseMetadata {
  #header: Headers | undefined;
  #trailer: Headers | undefined;

  get header(): Headers {
    this.#header ??= new Headers();
    return this.#header;
  }

  get trailer(): Headers {
    this.#trailer ??= new Headers();
    return this.#trailer;
  }

  /** Undefined where none has been set. */
  get headerSet(): Headers | undefined {
    return this.#header;
  }

  /** Undefined where none has been set. */
  get trailerSet(): Headers | undefined {
    return this.#trailer;
  }
}

/** A request that becomes a call. */
export interface CallInit {
  /** `rest` by default: a request of the facade, or a page's. */
  protocol?: "rest" | "grpc" | "grpc-web" | "connect";
  method: string;
  url: string;
  headers: () => Headers;
  request: RequestContext;
  /** When it aborts, the call ends; the request's own signal by default. */
  signal?: AbortSignal | undefined;
  /** Where the call puts its headers and trailers; they are there also if the call fails. */
  metadata?: ResponseMetadata;
}

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

/** Request and handler context in one object; headers and signal are made on first use. */
class UnaryContext implements UnaryRequest, HandlerContext {
  readonly stream = false as const;
  readonly protocolName: string;
  readonly method: DescMethodUnary;
  readonly service: DescService;
  readonly message: Message;
  readonly requestMethod: string;
  readonly url: string;
  readonly values: ContextValues;
  readonly #request: RequestContext;
  #signal: AbortSignal | undefined;
  readonly #headers: () => Headers;
  #requestHeader: Headers | undefined;
  readonly #metadata: ResponseMetadata;

  constructor(rpc: DescMethodUnary, message: Message, init: CallInit) {
    this.method = rpc;
    this.service = rpc.parent;
    this.protocolName = init.protocol ?? "rest";
    this.message = message;
    this.requestMethod = init.method;
    this.url = init.url;
    this.#request = init.request;
    this.#signal = init.signal;
    this.values = contextValuesOf(init.request);
    this.#headers = init.headers;
    this.#metadata = init.metadata ?? new ResponseMetadata();
  }

  get signal(): AbortSignal {
    this.#signal ??= this.#request.signal;
    return this.#signal;
  }

  get contextValues(): ContextValues {
    return this.values;
  }

  get header(): Headers {
    return this.requestHeader;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= this.#headers();
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    return this.#metadata.header;
  }

  get responseTrailer(): Headers {
    return this.#metadata.trailer;
  }

  timeoutMs(): undefined {
    return undefined;
  }

  reply(message: Message): UnaryResponse {
    return new ContextReply(this, message);
  }

  get headersSet(): Headers | undefined {
    return this.#metadata.headerSet;
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
