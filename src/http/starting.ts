import type { FastifyBaseLogger } from "fastify";
import { toConnectError } from "../calls/error-mapping.ts";
import { StoaError } from "../errors.ts";
import { unlimitedRequest } from "../rate-limits/request-limits.ts";
import type { ClientAddresses } from "./admission/client-address.ts";
import { Edge } from "./edge/edge.ts";
import type { RequestLog } from "./edge/request-log.ts";
import type { ServedRoute } from "./edge/route.ts";
import { errorReply, refuseUnparsable } from "./errors/failures.ts";
import type { PortHandlers } from "./port/port.ts";
import type { HttpReply } from "./replies/reply.ts";
import { RequestContext } from "./requests/context.ts";
import { isRpcType, refusalOf } from "./rpc/refusal.ts";

export interface StartingOptions {
  addresses: ClientAddresses;
  requestLog: RequestLog;
  /** Aborts when the start is given up. */
  shutdown: AbortSignal;
  /** The value of Strict-Transport-Security; undefined where clients may come without TLS. */
  transportSecurity: string | undefined;
  log: FastifyBaseLogger;
}

const starting = new StoaError("unavailable", "The service is starting.", { retryAfterSeconds: 1 });
const uncached = { "cache-control": "no-store" };

/**
 * What a service answers that is starting: 503 `unavailable`, and 200 at /healthz. RPC clients get the error of their
 * protocol.
 */
export function serveStarting({ addresses, log, ...options }: StartingOptions): PortHandlers {
  const route: ServedRoute = {
    path: undefined,
    methods: [],
    rpc: undefined,
    limits: "none",
    serve({ url, notes, request }) {
      if (url.split("?", 1)[0] === "/healthz") return alive;
      notes.outcome = starting.code;
      const { headers } = request;
      const isRpc = isRpcType(headers["content-type"]) || headers["connect-protocol-version"] !== undefined;
      const reply = isRpc ? refusalOf(headers["content-type"], toConnectError(starting)) : errorReply(starting);
      return { ...reply, fields: { ...uncached, ...reply.fields } };
    },
  };
  const admission = {
    begin: (arrived: Parameters<Edge["serve"]>[0] & { id: string }) =>
      new RequestContext({ ...arrived, client: addresses.locate(arrived.request), limits: unlimitedRequest, log }),
    visit: () => undefined,
    end() {},
  };
  const edge = new Edge({ ...options, admission, metrics: { observe() {} }, pages: undefined });
  const { requestLog, transportSecurity } = options;
  const fields = transportSecurity === undefined ? {} : { "Strict-Transport-Security": transportSecurity };
  return {
    handle: (request, response) => edge.serve({ request, response, url: request.url as string, route }, () => {}),
    refuse(_error, status, socket) {
      const refusal = refuseUnparsable(status, fields);
      requestLog.unparsable({ reqId: refusal.id, status, code: refusal.code }, socket.remoteAddress);
      return refusal;
    },
  };
}

const alive: HttpReply = {
  status: 200,
  fields: { ...uncached, "content-type": "application/json; charset=utf-8" },
  body: '{"ok":true}',
};
