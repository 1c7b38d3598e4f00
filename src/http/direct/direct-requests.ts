import type { FastifyBaseLogger } from "fastify";
import type { RequestContext, Route } from "../../calls/context.ts";
import type { HttpRequest, HttpResponse } from "../../calls/http-messages.ts";
import type { Admission } from "../admission/admission.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { hasGoodHost } from "../requests/host.ts";
import { requestIdOf } from "../requests/request-id.ts";
import type { RequestLog } from "../requests/request-log.ts";

/** How a request is served beside Fastify. */
export interface DirectCall {
  readonly route: Route;
  /** Answers the request. Never rejects. */
  serve(context: RequestContext): Promise<void>;
}

/** @returns undefined for a request that Fastify serves */
export type FindDirect = (request: HttpRequest) => DirectCall | undefined;

export interface DirectOptions {
  admission: Admission;
  metrics: Metrics;
  requestLog: RequestLog;
  shutdown: AbortSignal;
  log: FastifyBaseLogger;
}

/**
 * Serves the usual requests beside Fastify, whose hooks, replies and loggers take longer than a shared read: unary RPCs, and
 * reads of the REST facade. Whatever is unusual about a request is left to Fastify. A client cannot tell which of them has
 * answered.
 */
export class DirectRequests {
  readonly #options: DirectOptions;
  readonly #finders: FindDirect[] = [];

  constructor(options: DirectOptions) {
    this.#options = options;
  }

  /** Adds requests that are served here. To be called before the first request. */
  add(find: FindDirect): void {
    this.#finders.push(find);
  }

  /** Serves a request. @returns false for one that Fastify serves */
  take(request: HttpRequest, response: HttpResponse): boolean {
    if (this.#options.shutdown.aborted) return false;
    try {
      const call = this.#find(request);
      if (call === undefined || !hasGoodHost(request)) return false;
      this.#serve(call, request, response);
    } catch (error) {
      this.#options.log.error({ err: error }, "a request failed");
      response.destroy();
    }
    return true;
  }

  #serve(call: DirectCall, request: HttpRequest, response: HttpResponse): void {
    const { admission, requestLog } = this.#options;
    const context = admission.begin(request, response, requestIdOf(request));
    context.route = call.route;
    requestLog.begin(context);
    const served = call.serve(context);
    context.onEnd(() => {
      requestLog.noteSent(context);
      // A call whose client has disconnected may go on for a moment. Its outcome is known when it has ended.
      void served.then(() => this.#end(context));
    });
  }

  #find(request: HttpRequest): DirectCall | undefined {
    for (const find of this.#finders) {
      const call = find(request);
      if (call !== undefined) return call;
    }
    return undefined;
  }

  #end(context: RequestContext): void {
    const { admission, metrics, requestLog } = this.#options;
    admission.end(context);
    metrics.observe(context);
    if (context.isSent) requestLog.finished(context);
    else requestLog.aborted(context);
  }
}

/** The header fields that every reply has, besides those of the limits. */
export type CommonFields = (context: RequestContext) => Record<string, string>;
