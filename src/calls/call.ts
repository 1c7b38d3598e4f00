import type { DescMethod, DescService } from "@bufbuild/protobuf";
import { type ContextValues, createContextKey, createContextValues, type HandlerContext } from "@connectrpc/connect";
import type { FastifyBaseLogger } from "fastify";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import type { Caller } from "../board/agents.ts";
import { type ErrorCode, StoaError } from "../errors.ts";
import type { RequestLimits } from "../rate-limits/request-limits.ts";
import type { CallSpan } from "../tracing/call-span.ts";
import { Operator } from "./operator.ts";

/**
 * What became of a request, for the metrics and the log. `canceled`: the caller gave up. `refused`: a message could not be
 * read, before there was a call.
 */
export type Outcome = "ok" | ErrorCode | "canceled" | "refused";

/** The address of a client as it is, and the form in which limits count it. */
export interface ClientAddress {
  readonly address: string;
  /** An IPv4 address, or the /64 network of an IPv6 address. */
  readonly counted: string;
}

/** Who makes a call. */
export interface Admitted {
  /** The agent whose good API key the request shows, also on a public operation. Only its own limits apply then. */
  readonly agent: number | undefined;
  /** Who calls, where the operation requires credentials. */
  readonly caller: Caller | Operator | undefined;
}

/** What the request of a call gives to it. */
export interface CallOrigin {
  readonly client: ClientAddress;
  readonly limits: RequestLimits;
  /** Aborts when the caller has left, or its time is over. */
  readonly signal: AbortSignal;
  /** A log whose lines carry the request id. */
  readonly log: FastifyBaseLogger;
}

/** A call as services, idempotency and interceptors know it. It is complete when it is made, and knows no HTTP. */
export interface Call extends Admitted {
  readonly origin: CallOrigin;
  /** The idempotency key that the caller has sent with it, as it was sent; null without one. */
  readonly idempotencyKey: string | null;
  /** The span of the call; undefined while tracing is off. */
  readonly span: CallSpan | undefined;
}

/** The one key under which a call's context values hold it. */
const callKey = createContextKey<Call | undefined>(undefined, { description: "the call" });

export function contextValuesOf(call: Call): ContextValues {
  return createContextValues().set(callKey, call);
}

/** The call that context values belong to. @throws Error where it was made without one */
export function callOf(values: ContextValues): Call {
  const call = values.get(callKey);
  if (call === undefined) throw new Error("These values belong to no call.");
  return call;
}

/** The headers and trailers that a call sets for its response. Each is made on first use. */
export class ResponseMetadata {
  /** Undefined where none has been set. */
  headerSet: Headers | undefined;
  /** Undefined where none has been set. */
  trailerSet: Headers | undefined;

  get header(): Headers {
    this.headerSet ??= new Headers();
    return this.headerSet;
  }

  get trailer(): Headers {
    this.trailerSet ??= new Headers();
    return this.trailerSet;
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

/** What an implementation learns of its call. Headers are made on first use. */
export class CallContext<Method extends DescMethod = DescMethod> implements HandlerContext {
  readonly protocolName: string;
  readonly method: Method;
  readonly service: DescService;
  readonly requestMethod: string;
  readonly url: string;
  readonly signal: AbortSignal;
  readonly values: ContextValues;
  /** Undefined while the call has set no headers and no trailers. */
  metadata: ResponseMetadata | undefined;
  readonly call: Call;
  readonly #headers: () => Headers;
  #requestHeader: Headers | undefined;

  constructor(rpc: Method, init: CallInit) {
    this.method = rpc;
    this.service = rpc.parent;
    this.protocolName = init.protocol ?? "rest";
    this.requestMethod = init.method;
    this.url = init.url;
    this.call = init.call;
    this.signal = init.signal ?? init.call.origin.signal;
    this.values = contextValuesOf(init.call);
    this.#headers = init.headers;
    this.metadata = init.metadata;
  }

  get requestHeader(): Headers {
    this.#requestHeader ??= this.#headers();
    return this.#requestHeader;
  }

  get responseHeader(): Headers {
    this.metadata ??= new ResponseMetadata();
    return this.metadata.header;
  }

  get responseTrailer(): Headers {
    this.metadata ??= new ResponseMetadata();
    return this.metadata.trailer;
  }

  timeoutMs(): undefined {
    return undefined;
  }
}

/** The agent that calls; only for operations whose access is `agent`. @throws StoaError `unauthorized` */
export function callerOf({ values }: HandlerContext): Caller {
  const { caller } = callOf(values);
  if (caller === undefined || caller instanceof Operator) throw unauthorized(Access.AGENT);
  return caller;
}

/** The internal service that calls; only for operations whose access is `operator`. @throws StoaError `unauthorized` */
export function operatorOf({ values }: HandlerContext): Operator {
  const { caller } = callOf(values);
  if (caller instanceof Operator) return caller;
  throw unauthorized(Access.OPERATOR);
}

/**
 * The refusal of a call without valid credentials of the kind that the access requires.
 * @param more another sentence, after a space
 */
export function unauthorized(access: Access, more = ""): StoaError {
  const what = access === Access.OPERATOR ? "the operator token" : "a valid API key";
  return new StoaError(
    "unauthorized",
    `This needs ${what}: Authorization: Bearer <${access === Access.OPERATOR ? "token" : "api_key"}>.${more}`,
  );
}
