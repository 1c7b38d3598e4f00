import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext } from "@connectrpc/connect";
import type { Cancellation } from "../timing/wait.ts";
import { type Call, contextValuesOf } from "./call.ts";

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
  call: Call;
  /** When it aborts, the call ends; by default, it ends with its request. */
  signal?: AbortSignal | undefined;
  /** Where the call puts its headers and trailers; they are there also if the call fails. */
  metadata?: ResponseMetadata;
}

/** What an implementation learns of its call. Headers and signal are made on first use. */
export class CallContext<Method extends DescMethod = DescMethod> implements HandlerContext {
  readonly protocolName: string;
  readonly method: Method;
  readonly service: DescService;
  readonly requestMethod: string;
  readonly url: string;
  readonly values: ContextValues;
  protected readonly metadata: ResponseMetadata;
  readonly call: Call;
  readonly #ownSignal: AbortSignal | undefined;
  readonly #headers: () => Headers;
  #requestHeader: Headers | undefined;

  constructor(rpc: Method, init: CallInit) {
    this.method = rpc;
    this.service = rpc.parent;
    this.protocolName = init.protocol ?? "rest";
    this.requestMethod = init.method;
    this.url = init.url;
    this.call = init.call;
    this.#ownSignal = init.signal;
    this.values = contextValuesOf(init.call);
    this.#headers = init.headers;
    this.metadata = init.metadata ?? new ResponseMetadata();
  }

  get signal(): AbortSignal {
    return this.#ownSignal ?? this.call.origin.signal;
  }

  /** What ends the call. It has no signal yet where nobody has asked for one. */
  get cancellation(): Cancellation {
    return this.#ownSignal ?? this.call.origin;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= this.#headers();
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    return this.metadata.header;
  }

  get responseTrailer(): Headers {
    return this.metadata.trailer;
  }

  timeoutMs(): undefined {
    return undefined;
  }
}
