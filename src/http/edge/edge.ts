import type { RequestContext } from "../../calls/context.ts";
import type { HttpRequest, HttpResponse } from "../../calls/http-messages.ts";
import { badInput } from "../../errors.ts";
import type { Admission } from "../admission/admission.ts";
import type { ErrorPages } from "../errors/error-pages.ts";
import { errorReply, toldFailure } from "../errors/failures.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { type HttpReply, sendReply } from "../replies/reply.ts";
import { hasGoodHost } from "../requests/host.ts";
import { requestIdOf } from "../requests/request-id.ts";
import type { RequestLog } from "../requests/request-log.ts";
import type { ServedRoute } from "./route.ts";

export interface EdgeOptions {
  admission: Admission;
  metrics: Metrics;
  requestLog: RequestLog;
  /** Aborts when the service begins to stop: new requests are refused. */
  shutdown: AbortSignal;
  pages: ErrorPages | undefined;
  /** The value of Strict-Transport-Security; undefined where clients may come without TLS. */
  transportSecurity: string | undefined;
}

/** The request that is served, as it came from the port. */
export interface Arrived {
  request: HttpRequest;
  response: HttpResponse;
  /** The address that the client asked for, as it was sent. */
  url: string;
  route: ServedRoute;
}

/** What every request passes, whatever serves it: it is begun, admitted, answered, logged, counted and ended here. */
export class Edge {
  readonly admission: Admission;
  readonly #options: EdgeOptions;

  constructor(options: EdgeOptions) {
    this.admission = options.admission;
    this.#options = options;
  }

  /**
   * Serves a request to its end.
   * @param next see `ServedRoute.serve`
   */
  serve(arrived: Arrived, next: (context: RequestContext) => void): void {
    const { requestLog } = this.#options;
    const { route } = arrived;
    const context = this.admission.begin({ ...arrived, id: requestIdOf(arrived.request) });
    requestLog.begin(context);
    const answered = this.#answer(context, route, () => next(context));
    context.onEnd(() => {
      requestLog.noteSent(context);
      // A call whose client has disconnected may go on for a moment. Its outcome is known when it has ended.
      void answered.then(() => this.#end(context));
    });
  }

  /** The header fields that every reply has, besides those of the limits. */
  fieldsOf({ id }: RequestContext): Record<string, string> {
    const { transportSecurity } = this.#options;
    return transportSecurity === undefined
      ? { "x-request-id": id }
      : { "x-request-id": id, "strict-transport-security": transportSecurity };
  }

  /** Never rejects. */
  async #answer(context: RequestContext, route: ServedRoute, next: () => void): Promise<void> {
    try {
      const reply = await this.#attempt(context, route, next);
      if (reply !== undefined) await sendReply(context, reply, this.fieldsOf(context));
    } catch (error) {
      context.log.error({ err: error }, "a reply failed");
      context.response.destroy();
    }
  }

  async #attempt(context: RequestContext, route: ServedRoute, next: () => void): Promise<HttpReply | undefined> {
    try {
      this.#check(context);
      if (route.limits === undefined) {
        const visit = this.admission.visit(context);
        if (visit !== undefined) await visit;
      }
      return await route.serve(context, next);
    } catch (error) {
      return route.fail === undefined ? this.#fail(context, error) : await route.fail(context, error);
    }
  }

  #check({ request }: RequestContext): void {
    this.#options.shutdown.throwIfAborted();
    if (!hasGoodHost(request)) throw badInput(undefined, "The Host header is missing, malformed or repeated.");
  }

  #fail(context: RequestContext, error: unknown): HttpReply {
    const { pages } = this.#options;
    const told = toldFailure(error, context);
    return pages?.answersWithPage(context) ? pages.errorPage(context, told) : errorReply(told);
  }

  #end(context: RequestContext): void {
    const { metrics, requestLog } = this.#options;
    this.admission.end(context);
    metrics.observe(context);
    if (context.isSent) requestLog.finished(context);
    else requestLog.aborted(context);
  }
}
