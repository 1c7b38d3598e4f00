import type { DescMethod, DescService } from "@bufbuild/protobuf";
import type { ContextValues, HandlerContext } from "@connectrpc/connect";
import { contextValuesOf, type RequestContext } from "./context.ts";

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

/** What an implementation learns of its call. Headers and signal are made on first use. */
export class CallContext<Method extends DescMethod = DescMethod> implements HandlerContext {
  readonly protocolName: string;
  readonly method: Method;
  readonly service: DescService;
  readonly requestMethod: string;
  readonly url: string;
  readonly values: ContextValues;
  protected readonly metadata: ResponseMetadata;
  readonly #request: RequestContext;
  readonly #ownSignal: AbortSignal | undefined;
  readonly #headers: () => Headers;
  #requestHeader: Headers | undefined;

  constructor(rpc: Method, init: CallInit) {
    this.method = rpc;
    this.service = rpc.parent;
    this.protocolName = init.protocol ?? "rest";
    this.requestMethod = init.method;
    this.url = init.url;
    this.#request = init.request;
    this.#ownSignal = init.signal;
    this.values = contextValuesOf(init.request);
    this.#headers = init.headers;
    this.metadata = init.metadata ?? new ResponseMetadata();
  }

  get signal(): AbortSignal {
    return this.#ownSignal ?? this.#request.signal;
  }

  /** The signal of this call alone; undefined if the call ends with its request. */
  get ownSignal(): AbortSignal | undefined {
    return this.#ownSignal;
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
