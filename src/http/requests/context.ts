import type { DescMethod } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { FastifyBaseLogger } from "fastify";
import {
  type Admitted,
  type Call,
  type CallOrigin,
  type ClientAddress,
  createCall,
  type Outcome,
} from "../../calls/call.ts";
import { type Reply, replayedHeader } from "../../calls/unary-call.ts";
import type { RequestLimits } from "../../rate-limits/request-limits.ts";
import type { CallSpan } from "../../tracing/tracing.ts";
import type { HttpRequest, HttpResponse } from "./http-messages.ts";

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
  /** When the request arrived, by `performance.now()`. */
  readonly arrivedAt = performance.now();
  readonly notes: Notes = {};
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

  /** Makes the call of an RPC that this request makes. @param caller as admission has found it out */
  call(rpc: DescMethod, caller: Admitted["caller"]): Call {
    const { agent } = this.notes;
    const call = createCall(this, rpc, { agent, caller }, this.request.headers);
    this.notes.span = call.span;
    return call;
  }

  /** Notes what is known of a response besides its message. */
  noteReply({ headers, shared }: Reply): void {
    this.notes.isReplay = headers?.has(replayedHeader) === true;
    this.notes.isShared = shared?.isShared === true;
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
