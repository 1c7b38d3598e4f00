import type { DescMethod } from "@bufbuild/protobuf";
import type { FastifyInstance, FastifyRequest } from "fastify";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import type { RequestContext, Route, RouteLimits } from "../../calls/context.ts";
import type { ServiceTable } from "../../calls/service-table.ts";
import type { Admission } from "./admission.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** Set by the first hook. */
    context: RequestContext;
  }
  interface FastifyContextConfig {
    limits?: RouteLimits;
    /** The RPC that a route of the REST facade serves. */
    rpc?: DescMethod;
    /** What the metrics and the log say of the route; each route is given one. */
    route?: Route;
  }
}

/**
 * Gives each request its context before every other hook, and each response the header fields of the limits. To be called
 * before routes are added.
 */
export function addAdmission(app: FastifyInstance, admission: Admission, services: ServiceTable["services"]): void {
  app.decorateRequest("context", undefined as never);
  const rpcRoutes = new Map(rpcRoutesOf(services).map((route): [string, Route] => [route.path, route]));
  app.addHook("onRoute", (route) => {
    const { url, config } = route;
    const described = rpcRoutes.get(url) ?? { path: url, rpc: config?.rpc, limits: config?.limits };
    route.config = { ...config, route: described };
    if (described.limits !== undefined) return;
    const visit = async (request: FastifyRequest) => admitVisit(admission, request);
    route.onRequest = [visit, ...[route.onRequest ?? []].flat()];
  });
  app.addHook("onRequest", (request, reply, done) => {
    // Nothing is refused yet. RPCs are refused in the manner of their protocols, REST requests once it is known whether a
    // page of another origin may read the refusal, and requests for health never.
    request.context = admission.begin(request.raw, reply.raw, request.id);
    request.context.route = request.routeOptions.config.route;
    done();
  });
  app.addHook("onSend", (request, reply, payload, done) => {
    reply.headers(request.context.limits.fields());
    done(null, payload);
  });
}

/** The routes of RPCs. Health checks are never limited. */
export function rpcRoutesOf(services: ServiceTable["services"]): (Route & { rpc: DescMethod })[] {
  return services.flatMap(({ service: { typeName, methods } }) => {
    const limits = typeName === Health.typeName ? "none" : "rpc";
    return methods.map((rpc) => ({ path: `/${typeName}/${rpc.name}`, rpc, limits }) as const);
  });
}

/** Admits a request that is not a call of the contract; see `Admission.visit`. @throws StoaError `rate_limited` */
export function admitVisit(admission: Admission, { context, raw }: FastifyRequest): Promise<void> | undefined {
  return admission.visit(context, raw.headers.authorization ?? null);
}
