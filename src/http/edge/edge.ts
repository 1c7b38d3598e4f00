import type { Socket } from "node:net";
import { errorHeaders, toErrorBody } from "../../calls/error-mapping.ts";
import type { Admission } from "../admission/admission.ts";
import type { ErrorPages } from "../errors/error-pages.ts";
import { connectionFailure, errorReply, toldFailure } from "../errors/failures.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { type HttpReply, sendReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";
import { hasGoodHost, noGoodHost } from "../requests/host.ts";
import type { HttpRequest, HttpResponse } from "../requests/http-messages.ts";
import { requestIdOf } from "../requests/request-id.ts";
import type { RequestLog } from "./request-log.ts";
import type { HandedOver, ServedRoute } from "./route.ts";

export interface EdgeOptions {
  admission: Pick<Admission, "begin" | "visit" | "end" | "countUnparsable">;
  metrics: Pick<Metrics, "observe">;
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
  readonly #options: EdgeOptions;

  constructor(options: EdgeOptions) {
    this.#options = options;
  }

  /**
   * Serves a request to its end.
   * @param next see `ServedRoute.serve`
   */
  serve(arrived: Arrived, next: (handedOver: HandedOver) => void): void {
    const { requestLog } = this.#options;
    const { route } = arrived;
    const context = this.#options.admission.begin({ ...arrived, id: requestIdOf(arrived.request) });
    const sentBefore = requestLog.sentBefore(context);
    const answered = this.#answer(context, route, next);
    context.onEnd(() => {
      const bytes = requestLog.bytesOf(context, sentBefore);
      // A call whose client has disconnected may go on for a moment. Its outcome is known when it has ended.
      void answered.then(() => this.#end(context, bytes));
    });
  }

  /** Makes and logs the reply to a connection that is refused before it has a request. See `connectionFailure`. */
  refuse(status: number, socket: Socket) {
    const { admission, requestLog } = this.#options;
    const failure = connectionFailure(status);
    if (status !== 429) admission.countUnparsable(socket);
    const id = requestIdOf({ headers: {} });
    requestLog.refused({ reqId: id, status, code: failure.code }, socket.remoteAddress);
    return { status, body: toErrorBody(failure), headers: { ...errorHeaders(failure), ...this.#fieldsOfAll(id) } };
  }

  /** The header fields that every reply has, besides those of the limits. */
  fieldsOf({ id, notes: { span } }: RequestContext): Record<string, string> {
    const fields = this.#fieldsOfAll(id);
    // Names the span of the call (W3C Trace Context, Level 2).
    if (span !== undefined) fields.traceresponse = span.traceparent;
    return fields;
  }

  #fieldsOfAll(id: string): Record<string, string> {
    const { transportSecurity } = this.#options;
    const fields: Record<string, string> = { "x-request-id": id };
    if (transportSecurity !== undefined) fields["strict-transport-security"] = transportSecurity;
    return fields;
  }

  /** Never rejects. */
  async #answer(context: RequestContext, route: ServedRoute, next: (handedOver: HandedOver) => void): Promise<void> {
    try {
      const reply = await this.#attempt(context, route, next);
      if (reply !== undefined) await sendReply(context, reply, this.fieldsOf(context));
    } catch (error) {
      context.log.error({ err: error }, "a reply failed");
      context.response.destroy();
    }
  }

  async #attempt(
    context: RequestContext,
    route: ServedRoute,
    next: (handedOver: HandedOver) => void,
  ): Promise<HttpReply | undefined> {
    try {
      this.#check(context);
      if (route.limits === undefined) {
        const visit = this.#options.admission.visit(context);
        if (visit !== undefined) await visit;
      }
      return await route.serve(context, next);
    } catch (error) {
      return route.fail === undefined ? this.#fail(context, error) : await route.fail(context, error);
    }
  }

  #check({ request }: RequestContext): void {
    this.#options.shutdown.throwIfAborted();
    if (!hasGoodHost(request)) throw noGoodHost();
  }

  #fail(context: RequestContext, error: unknown): HttpReply {
    const { pages } = this.#options;
    const told = toldFailure(error, context);
    return pages?.answersWithPage(context) ? pages.errorPage(context, told) : errorReply(told);
  }

  #end(context: RequestContext, bytes: number | undefined): void {
    const { metrics, requestLog } = this.#options;
    this.#options.admission.end(context);
    metrics.observe(context);
    if (context.isSent) requestLog.finished(context, bytes);
    else requestLog.aborted(context, bytes);
  }
}
