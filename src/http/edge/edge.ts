import { errorHeaders, toErrorBody } from "../../calls/error-mapping.ts";
import type { StoaError } from "../../errors.ts";
import type { CountedRequest, Metrics } from "../../metrics/metrics.ts";
import type { Admission } from "../admission/admission.ts";
import { connectionFailure, errorReply, toldFailure } from "../errors/failures.ts";
import type { Refuse } from "../port/refusals.ts";
import { type HttpReply, sendReply } from "../replies/reply.ts";
import { type ArrivedRequest, commonFields, type RequestContext } from "../requests/context.ts";
import { grpcOf, hasGoodHost, noGoodHost, requestIdOf } from "../requests/head.ts";
import { bytesOf, type RequestLog, sentBytes } from "./request-log.ts";
import type { ServedRoute } from "./route.ts";

/** Shows failures as pages, for people. */
export interface ErrorPages {
  /** Whether a failure of this request is answered with a page. The API always answers in the Error shape. */
  answersWithPage(context: RequestContext): boolean;
  errorPage(context: RequestContext, error: StoaError): HttpReply;
}

interface EdgeOptions {
  admission: Pick<Admission, "begin" | "visit" | "end" | "countUnparsable">;
  metrics: Pick<Metrics, "count">;
  requestLog: RequestLog;
  /** Aborts when the service begins to stop: new requests are refused. */
  shutdown: AbortSignal;
  pages: ErrorPages | undefined;
  /** The value of Strict-Transport-Security; undefined where clients may come without TLS. */
  transportSecurity: string | undefined;
}

/** A request as it came from the port, and the route that serves it. */
type Arrived = Pick<ArrivedRequest, "request" | "response" | "url"> & { route: ServedRoute };

/** What every request passes, whatever serves it: it is begun, admitted, answered, logged, counted and ended here. */
export class Edge {
  readonly #options: EdgeOptions;

  constructor(options: EdgeOptions) {
    this.#options = options;
  }

  /** Serves a request to its end. */
  serve(arrived: Arrived): void {
    const { admission, requestLog, transportSecurity } = this.#options;
    const context = admission.begin({ ...arrived, id: requestIdOf(arrived.request), transportSecurity });
    const before = requestLog.isWritten ? sentBytes(context) : undefined;
    const answered = this.#answer(context, arrived.route);
    // This listener comes first, because the port begins the next request of the connection when it hears of the close.
    context.response.prependOnceListener("close", async () => {
      const isSent = context.close();
      const bytes = requestLog.isWritten ? bytesOf(context, before) : undefined;
      // A call whose client has disconnected may go on for a moment. Its outcome is known when it has ended.
      await answered;
      this.#end(context, isSent, bytes);
    });
  }

  /** Makes and logs the reply to a connection that is refused before it has a request. See `connectionFailure`. */
  readonly refuse: Refuse = (status, peer) => {
    const { admission, requestLog, transportSecurity } = this.#options;
    const failure = connectionFailure(status);
    if (status !== 429) admission.countUnparsable(peer);
    const id = requestIdOf({ headers: {} });
    requestLog.refused({ reqId: id, status, code: failure.code }, peer.remoteAddress);
    const headers = { "cache-control": "no-store", ...errorHeaders(failure), ...commonFields(id, transportSecurity) };
    return { status, body: toErrorBody(failure), headers };
  };

  /** Never rejects. */
  async #answer(context: RequestContext, route: ServedRoute): Promise<void> {
    try {
      let reply: HttpReply | undefined;
      try {
        this.#options.shutdown.throwIfAborted();
        if (!hasGoodHost(context.request)) throw noGoodHost();
        if (route.limits === undefined) await this.#options.admission.visit(context);
        reply = await route.serve(context);
      } catch (error) {
        reply = route.fail === undefined ? this.#fail(context, error) : await route.fail(context, error);
      }
      context.body?.drop();
      if (reply !== undefined) await sendReply(context, reply);
    } catch (error) {
      context.log.error({ err: error }, "a reply failed");
      context.response.destroy();
    }
  }

  #fail(context: RequestContext, error: unknown): HttpReply {
    const { pages } = this.#options;
    const told = toldFailure(error, context);
    return pages?.answersWithPage(context) ? pages.errorPage(context, told) : errorReply(told);
  }

  #end(context: RequestContext, isSent: boolean, bytes: number | undefined): void {
    const { admission, metrics, requestLog } = this.#options;
    admission.end(context);
    const counted = countedOf(context);
    if (counted !== undefined) metrics.count(counted);
    if (requestLog.isWritten) requestLog.ended(context, isSent, bytes);
  }
}

/** What is counted of a request that is over; undefined for health, metrics, pages and unknown addresses. */
function countedOf({ route, request, response, notes, arrivedAt }: RequestContext): CountedRequest | undefined {
  const { tool, outcome, isReplay = false, isShared = false } = notes;
  const rpc = route.rpc ?? tool;
  if (rpc === undefined) return undefined;
  const { template = tool === undefined ? undefined : route.url } = route;
  const http = template === undefined ? undefined : { request, response, route: template };
  const ofHttp = tool !== undefined ? "mcp" : http !== undefined ? "rest" : undefined;
  const protocol = ofHttp ?? grpcOf(request.headers["content-type"]) ?? "connect";
  const code = outcome ?? (http !== undefined && response.statusCode < 400 ? "ok" : "refused");
  return { rpc, protocol, code, seconds: (performance.now() - arrivedAt) / 1000, isReplay, isShared, http };
}
