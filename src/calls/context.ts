import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError, type ContextValues, createContextKey, createContextValues } from "@connectrpc/connect";
import type { FastifyBaseLogger } from "fastify";
import type { Caller } from "../board/agents.ts";
import type { ErrorCode } from "../errors.ts";
import type { RequestLimits } from "../rate-limits/request-limits.ts";
import type { Cancellation } from "../timing/wait.ts";
import type { HttpRequest, HttpResponse } from "./http-messages.ts";
import type { SharedForms } from "./shared-forms.ts";

/** An internal service that holds the operator token. */
export const operator = Symbol("operator");

/**
 * What became of a request, for the metrics and the log. `canceled`: the caller gave up. `refused`: Connect refused a
 * message that it could not read, before there was a call.
 */
export type Outcome = "ok" | ErrorCode | "canceled" | "refused";

/** The address of a client as it is, and the form in which limits count it. */
export interface ClientAddress {
  readonly address: string;
  /** An IPv4 address, or the /64 network of an IPv6 address. */
  readonly counted: string;
}

/** How a route is limited: `none` not at all; `rest` and `rpc` admit their calls themselves; others spend a read. */
export type RouteLimits = "none" | "rest" | "rpc";

/** What answers a request. */
export interface Route {
  /** The pattern of the addresses that it answers; undefined where there is nothing at an address. */
  readonly path: string | undefined;
  /** The RPC that it calls; undefined for pages, documents and the like. */
  readonly rpc: DescMethod | undefined;
  readonly limits: RouteLimits | undefined;
  /** Whether the route serves people, who get failures as pages. */
  readonly isPage?: boolean | undefined;
}

/** A request that has arrived. */
export interface ArrivedRequest {
  request: HttpRequest;
  response: HttpResponse;
  /** The id under which the request is logged. */
  id: string;
  /** The address that the client asked for, as it was sent. */
  url: string;
  route: Route;
  /** The log of the service. */
  log: FastifyBaseLogger;
  client: ClientAddress;
  limits: RequestLimits;
}

/**
 * What the service knows of one request, from its arrival until its response is closed. Every protocol makes one at its
 * edge and fills it in: admission sets `agent` and `caller`, and the call sets `outcome`.
 */
export class RequestContext implements Cancellation {
  readonly request: HttpRequest;
  readonly response: HttpResponse;
  readonly id: string;
  readonly client: ClientAddress;
  readonly limits: RequestLimits;
  /** The address that the client asked for, as it was sent. */
  readonly url: string;
  /** When the request arrived, by `performance.now()`. */
  readonly arrivedAt = performance.now();
  readonly route: Route;
  /** The agent whose good API key the request shows, also on a public operation. Only its own limits apply then. */
  agent: number | undefined = undefined;
  /** Who calls, where the operation requires credentials. */
  caller: Caller | typeof operator | undefined = undefined;
  /** The RPC that a message of MCP calls, as a tool or to read a resource. */
  tool: DescMethod | undefined = undefined;
  /** Set if the response is shared with other requests, or is the same as before: what has been made of it. */
  sharedForms: SharedForms | undefined = undefined;
  /** The same of what is not kept for later reads: pages, and compressed bodies. The requests that share the read have it. */
  sharedBodies: SharedForms | undefined = undefined;
  /** What became of the request so far; undefined until a call or an error reply has set it. */
  outcome: Outcome | undefined = undefined;
  /** Whether the caller was at fault when the call failed; undefined where no call has begun. */
  isFault: boolean | undefined = undefined;
  /** Whether the response was stored by an earlier request with the same idempotency key. */
  isReplay = false;
  /** Whether the response was made for another request that asked for the same. */
  isShared = false;
  /** The trace that its call belongs to; undefined while tracing is off. */
  traceId: string | undefined = undefined;
  /** Over HTTP/1.1: the bytes that the connection had sent before this response. */
  sentBefore = 0;
  /** The bytes of the response, once they are known. */
  sent: number | undefined = undefined;
  readonly #serviceLog: FastifyBaseLogger;
  #log: FastifyBaseLogger | undefined = undefined;
  #controller: AbortController | undefined = undefined;
  #isAborted = false;
  #reason: unknown = undefined;
  #aborting: Set<() => void> | undefined = undefined;
  #endings: (() => void)[] | undefined = undefined;
  #isFollowed = false;

  constructor({ request, response, id, url, route, log, client, limits }: ArrivedRequest) {
    this.request = request;
    this.response = response;
    this.id = id;
    this.client = client;
    this.limits = limits;
    this.url = url;
    this.route = route;
    this.#serviceLog = log;
  }

  /** A log whose lines carry the request id. Few requests log anything while they run. */
  get log(): FastifyBaseLogger {
    this.#log ??= this.#serviceLog.child({ reqId: this.id });
    return this.#log;
  }

  /** Whether the whole response was sent. */
  get isSent(): boolean {
    return isComplete(this.response);
  }

  /**
   * Whether the client has disconnected before its response was complete, or `abort` was called. A request is the
   * cancellation of its calls, so that a call that only waits needs no signal.
   */
  get aborted(): boolean {
    if (!this.#isAborted && isClosed(this.response)) this.#abortUnlessComplete();
    return this.#isAborted;
  }

  get reason(): unknown {
    return this.#reason;
  }

  addEventListener(_type: "abort", action: () => void): void {
    this.#aborting ??= new Set();
    this.#aborting.add(action);
    this.#follow();
  }

  removeEventListener(_type: "abort", action: () => void): void {
    this.#aborting?.delete(action);
  }

  /** The same as a signal. Connect's own handlers give each call a signal of its own. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.aborted) this.#controller.abort(this.#reason);
      else this.#follow();
    }
    return this.#controller.signal;
  }

  /** Aborts the request, whether or not anybody has asked for its signal. Only the first reason counts. */
  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    if (this.#aborting !== undefined) for (const action of this.#aborting) action();
  }

  /** Calls `action` when the response is closed, complete or not. All actions share one listener on the response. */
  onEnd(action: () => void): void {
    this.#endings ??= [];
    this.#endings.push(action);
    this.#follow();
  }

  #follow(): void {
    if (this.#isFollowed) return;
    this.#isFollowed = true;
    // First of all, because the port begins the next request of the connection when it learns of the end.
    this.response.prependOnceListener("close", () => this.#end());
  }

  #end(): void {
    this.#abortUnlessComplete();
    if (this.#endings !== undefined) for (const action of this.#endings) action();
  }

  #abortUnlessComplete(): void {
    if (!isComplete(this.response)) this.abort(new ConnectError("the client disconnected", Code.Canceled));
  }
}

function isClosed({ stream, destroyed }: HttpResponse): boolean {
  return stream === undefined ? destroyed : stream.destroyed;
}

/** Whether a closed response was sent. When an HTTP/2 client resets a stream, Node ends the response before it closes it. */
function isComplete(response: HttpResponse): boolean {
  return response.writableFinished && response.stream?.aborted !== true;
}

/** The one key under which a call's context values hold its request. */
const requestKey = createContextKey<RequestContext | undefined>(undefined, { description: "the request" });

/** Context values for a call that belongs to a request. */
export function contextValuesOf(request: RequestContext): ContextValues {
  return createContextValues().set(requestKey, request);
}

/** The request that a call belongs to. @throws Error where the call was made without one */
export function requestOf(values: ContextValues): RequestContext {
  const request = values.get(requestKey);
  if (request === undefined) throw new Error("This call has no request context.");
  return request;
}
