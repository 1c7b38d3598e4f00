import type { FastifyBaseLogger } from "fastify";
import { toConnectError } from "../calls/error-mapping.ts";
import { StoaError } from "../errors.ts";
import { unlimitedRequest } from "../rate-limits/request-limits.ts";
import type { ClientAddresses } from "./admission/client-address.ts";
import { Edge } from "./edge/edge.ts";
import type { RequestLog } from "./edge/request-log.ts";
import type { ServedRoute } from "./edge/route.ts";
import { errorReply, toldFailure } from "./errors/failures.ts";
import { asJson } from "./health/routes.ts";
import type { PortHandlers } from "./port/connection.ts";
import { type ArrivedRequest, RequestContext } from "./requests/context.ts";
import { isRpcRequest } from "./requests/head.ts";
import { refusalOf } from "./rpc/refusal.ts";

interface StartingOptions {
  addresses: ClientAddresses;
  requestLog: RequestLog;
  /** Aborts when the start is given up. */
  shutdown: AbortSignal;
  /** The value of Strict-Transport-Security; undefined where clients may come without TLS. */
  transportSecurity: string | undefined;
  log: FastifyBaseLogger;
}

const starting = new StoaError("unavailable", "The service is starting.", { retryAfterSeconds: 1 });

/**
 * What a service answers while it starts: 503 `unavailable`, and 200 at /healthz. RPC clients get the error of their
 * protocol.
 */
export function serveStarting({ addresses, log, ...options }: StartingOptions): PortHandlers {
  const route: ServedRoute = {
    limits: "none",
    serve({ url }) {
      if (url.split("?", 1)[0] === "/healthz") return asJson({ ok: true });
      throw starting;
    },
    fail(context, error) {
      const { headers } = context.request;
      const failure = toldFailure(error, context);
      if (!isRpcRequest(headers)) return errorReply(failure);
      return refusalOf(headers["content-type"], toConnectError(failure));
    },
  };
  const admission = {
    begin: (arrived: Omit<ArrivedRequest, "client" | "limits" | "log">) =>
      new RequestContext({ ...arrived, client: addresses.locate(arrived.request), limits: unlimitedRequest, log }),
    visit: () => undefined,
    end() {},
    countUnparsable() {},
  };
  const edge = new Edge({ ...options, admission, metrics: { count() {} }, pages: undefined });
  return {
    handle: (request, response) => edge.serve({ request, response, url: request.url as string, route }),
    refuse: edge.refuse,
  };
}
