import type { ServerResponse } from "node:http";
import { constants, type ServerHttp2Stream } from "node:http2";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import type { RequestContext } from "../../calls/context.ts";
import type { ServiceTable } from "../../calls/service-table.ts";
import type { Admission } from "./admission.ts";

/** How a route is limited: `none` not at all; `rest` and `rpc` admit their calls themselves; others spend a read. */
export type RouteLimits = "none" | "rest" | "rpc";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the first hook. */
    context: RequestContext;
  }
  interface FastifyContextConfig {
    limits?: RouteLimits;
  }
}

/**
 * Gives each request its context before every other hook, and each response the header fields of the limits. To be called
 * before routes are added.
 */
export function addAdmission(app: FastifyInstance, admission: Admission, services: ServiceTable["services"]): void {
  app.decorateRequest("context", undefined as never);
  const rpcRoutes = new Map<string, RouteLimits>(
    services.flatMap(({ service: { typeName, methods } }) =>
      methods.map(({ name }) => [`/${typeName}/${name}`, typeName === Health.typeName ? "none" : "rpc"]),
    ),
  );
  app.addHook("onRoute", (route) => {
    const limits = rpcRoutes.get(route.url);
    if (limits !== undefined) route.config = { ...route.config, limits };
    if (route.config?.limits !== undefined) return;
    const visit = async (request: FastifyRequest) => admitVisit(admission, request);
    route.onRequest = [visit, ...[route.onRequest ?? []].flat()];
  });
  app.addHook("onRequest", (request, reply, done) => {
    // Nothing is refused yet. RPCs are refused in the manner of their protocols, REST requests once it is known whether a
    // page of another origin may read the refusal, and requests for health never.
    request.context = admission.begin(request.raw, reply.raw, request.log);
    done();
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    reply.headers(request.context.limits.fields());
    done(null, payload);
  });
  app.addHook("onResponse", (request, reply, done) => {
    admission.end(request.context, request.context.isFault ?? isFaulty(request, reply));
    done();
  });
}

/** Admits a request that is not a call of the contract; see `Admission.visit`. @throws StoaError `rate_limited` */
export function admitVisit(admission: Admission, { context, raw }: FastifyRequest): Promise<void> | undefined {
  return admission.visit(context, raw.headers.authorization ?? null);
}

/**
 * Whether a request that did not become a call was refused for a fault of its own. Connect has refused an RPC that did not
 * become a call.
 */
function isFaulty({ routeOptions }: FastifyRequest, { statusCode, raw }: FastifyReply): boolean {
  if (!raw.writableFinished || isReset(raw) || statusCode === 429 || statusCode === 503) return false;
  // Connect answers a message that it cannot decode with 500 over HTTP/1.1, and over gRPC with 200 and a status in the
  // trailer.
  return routeOptions.config.limits === "rpc" || (statusCode >= 400 && statusCode < 500);
}

/** Whether an HTTP/2 client has reset the stream. Connect ends its response even then, so the response looks finished. */
function isReset(response: ServerResponse & { stream?: ServerHttp2Stream }): boolean {
  return response.stream !== undefined && response.stream.rstCode !== constants.NGHTTP2_NO_ERROR;
}
