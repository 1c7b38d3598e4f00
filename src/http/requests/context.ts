import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { FastifyBaseLogger } from "fastify";
import type { Admitted, Call, CallOrigin, ClientAddress, Outcome } from "../../calls/call.ts";
import { type Reply, replayedHeader } from "../../calls/unary-call.ts";
import type { RequestLimits } from "../../rate-limits/request-limits.ts";
import { beginCall, type CallSpan } from "../../tracing/call-span.ts";
import { tracer } from "../../tracing/tracing.ts";
import { RequestBody } from "./body.ts";
import { hasBody } from "./head.ts";
import type { HttpRequest, HttpResponse } from "./http-messages.ts";

/** How a route is limited: `none` not at all; `rest` and `rpc` admit their calls themselves; by default, as a `visit`. */
export type RouteLimits = "none" | "rest" | "rpc";

/** What answers a request. */
export interface Route {
  /** The pattern of the addresses that it answers; undefined where there is nothing at an address. */
  readonly url?: string;
  /** The same as the contract writes it, /api/v1/posts/{id}. */
  readonly template?: string;
  /** The RPC that it calls; undefined for pages, documents and the like. */
  readonly rpc?: DescMethod;
  readonly limits?: RouteLimits;
  /** How much of a request's body is read, in bytes. By default none is; `unread` leaves it to the handler of a stream. */
  readonly maxBody?: number | "unread";
  /** Whether the route serves people, who get failures as pages. */
  readonly isPage?: boolean;
}

/** A request that has arrived. */
export interface ArrivedRequest {
  request: HttpRequest;
  response: HttpResponse;
  /** The id under which the request is logged. */
  id: string;
  /** The value of Strict-Transport-Security; undefined where clients may come without TLS. */
  transportSecurity: string | undefined;
  /** The address that the client asked for, as it was sent. */
  url: string;
  route: Route;
  /** The log of the service. */
  log: FastifyBaseLogger;
  client: ClientAddress;
  limits: RequestLimits;
}

/** What is noted of a request for the log and the metrics. */
export interface Notes {
  /** The agent whose good API key the request shows, also on a public operation. */
  agent?: number | undefined;
  /** The RPC that a message of MCP calls, as a tool or to read a resource. */
  tool?: DescMethod | undefined;
  /** What became of the request; undefined where no call was made, or a call over REST has succeeded. */
  outcome?: Outcome | undefined;
  /** The span of its call, or of the last of its calls. */
  span?: CallSpan | undefined;
  /** Whether the response was stored by an earlier request with the same idempotency key. */
  isReplay?: boolean;
  /** Whether the response was made for another request that asked for the same. */
  isShared?: boolean;
}

/** One HTTP request, from its arrival until its response is closed. Only the edge and the protocols know it; see `Call`. */
export class RequestContext implements CallOrigin {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly id: string;
  readonly client: ClientAddress;
  readonly limits: RequestLimits;
  /** The address that the client asked for, as it was sent. */
  readonly url: string;
  readonly route: Route;
  /** The body; undefined where there is none, it is dropped, or the handler of a stream reads it. */
  readonly body: RequestBody | undefined = undefined;
  /** When the request arrived, by `performance.now()`. */
  readonly arrivedAt = performance.now();
  readonly notes: Notes = {};
  readonly #transportSecurity: string | undefined;
  readonly #serviceLog: FastifyBaseLogger;
  #log: FastifyBaseLogger | undefined = undefined;
  readonly #controller = new AbortController();
  /** Aborts when the client disconnects before its response is complete, or when `abort` is called. */
  readonly signal = this.#controller.signal;
  #ending: (() => void)[] | undefined = undefined;

  constructor({ request, response, id, transportSecurity, url, route, log, client, limits }: ArrivedRequest) {
    this.request = request;
    this.response = response;
    this.id = id;
    this.client = client;
    this.limits = limits;
    this.url = url;
    this.route = route;
    this.#transportSecurity = transportSecurity;
    this.#serviceLog = log;
    const { maxBody = 0 } = route;
    if (maxBody === "unread" || !hasBody(request)) return;
    if (maxBody === 0) request.resume();
    else this.body = new RequestBody(request, response, maxBody);
  }

  /** A log whose lines carry the request id. Few requests log anything while they run. */
  get log(): FastifyBaseLogger {
    this.#log ??= this.#serviceLog.child({ reqId: this.id });
    return this.#log;
  }

  /** The value of a header field, by its lower-case name. Node joins the values of a field that is sent twice. */
  header(name: string): string | null {
    return (this.request.headers[name] as string | undefined) ?? null;
  }

  /** The header fields that every reply to the request has. */
  fields(): Record<string, string> {
    const fields = commonFields(this.id, this.#transportSecurity);
    // It names the span of the call (W3C Trace Context, Level 2).
    if (this.notes.span !== undefined) fields.traceresponse = this.notes.span.traceparent;
    return Object.assign(fields, this.limits.fields());
  }

  /**
   * Makes the call of an RPC that this request makes.
   * @param caller what admission has found out
   * @param idempotencyKey by default that of the header
   */
  call(rpc: DescMethod, caller: Admitted["caller"], idempotencyKey = this.header("idempotency-key")): Call {
    const span = tracer === undefined ? undefined : beginCall(rpc, this);
    this.notes.span = span;
    return { origin: this, agent: this.notes.agent, caller, idempotencyKey, span };
  }

  /** Notes what is known of a response besides its message. */
  noteReply({ headers, shared }: Reply): void {
    this.notes.isReplay = headers?.has(replayedHeader) === true;
    this.notes.isShared = shared?.isShared === true;
  }

  /** Whether the response can still be sent. Over HTTP/2, a stream may be closed before it is destroyed. */
  get isOpen(): boolean {
    const { stream, closed, destroyed } = this.response;
    return stream === undefined ? !(closed || destroyed) : !(stream.closed || stream.destroyed);
  }

  /** Aborts the request. Only the first reason counts. */
  abort(reason: unknown): void {
    this.#controller.abort(reason);
  }

  /** Calls `action` when the response is closed, complete or not. */
  onEnd(action: () => void): void {
    this.#ending ??= [];
    this.#ending.push(action);
  }

  /** To be called when the response is closed. @returns whether it was sent whole */
  close(): boolean {
    const { response } = this;
    // When an HTTP/2 client resets a stream, Node ends the response before it closes it.
    const isSent = response.writableFinished && response.stream?.aborted !== true;
    if (!isSent) this.abort(new ConnectError("the client disconnected", Code.Canceled));
    if (this.#ending !== undefined) for (const action of this.#ending) action();
    return isSent;
  }
}

/** The header fields that every reply has, also that to a connection without a request. */
export function commonFields(id: string, transportSecurity: string | undefined): Record<string, string> {
  // Browsers take a reply for what its content type says.
  const fields: Record<string, string> = { "x-content-type-options": "nosniff", "x-request-id": id };
  if (transportSecurity !== undefined) fields["strict-transport-security"] = transportSecurity;
  return fields;
}
