import type { ServerResponse } from "node:http";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import type { ServiceTable } from "../../calls/service-table.ts";
import type { CallLimits } from "../../rate-limits/call-limits.ts";
import type { Gate } from "./gate.ts";

/** How a route is limited: `none` at all; `rest` and `rpc` count their calls themselves; others count as reads. */
export type RouteLimits = "none" | "rest" | "rpc";

declare module "fastify" {
  interface FastifyRequest {
    /** Who makes the request, and its limits; undefined before the first hook. */
    callLimits: CallLimits | undefined;
  }
  interface FastifyContextConfig {
    limits?: RouteLimits;
  }
}

/**
 * Puts the limits of this process before everything else that an instance does, and the header fields on every reply.
 * To be called before routes are added.
 */
export function addLimits(app: FastifyInstance, gate: Gate, services: ServiceTable["services"]): void {
  app.decorateRequest("callLimits", undefined);
  const rpcRoutes = new Map<string, RouteLimits>(
    services.flatMap(({ service: { typeName, methods } }) =>
      methods.map(({ name }) => [`/${typeName}/${name}`, typeName === Health.typeName ? "none" : "rpc"]),
    ),
  );
  app.addHook("onRoute", (route) => {
    const limits = rpcRoutes.get(route.url);
    if (limits !== undefined) route.config = { ...route.config, limits };
    if (route.config?.limits !== undefined) return;
    const count = async (request: FastifyRequest) => countVisit(gate, request);
    route.onRequest = [count, ...[route.onRequest ?? []].flat()];
  });
  app.addHook("onRequest", (request, _reply, done) => {
    // Requests are refused where they are counted, and requests for health never: over RPC in the manner of its protocols,
    // over REST where it is known whether a page of another origin may read the refusal.
    request.callLimits = gate.open(request.raw);
    done();
  });
  if (!gate.limits) return;

  app.addHook("onSend", (request, reply, payload, done) => {
    const { callLimits } = request;
    if (callLimits !== undefined) {
      gate.describe(callLimits);
      reply.header("ratelimit-policy", callLimits.policies).header("ratelimit", callLimits.state);
    }
    done(null, payload);
  });
  app.addHook("onResponse", (request, reply, done) => {
    const { callLimits } = request;
    if (callLimits !== undefined) {
      callLimits.faulty ??= isFaulty(request, reply);
      gate.close(callLimits);
    }
    done();
  });
}

/** Says on a reply that Fastify does not send how the caller stands; the gate has described it. */
export function setLimitFields(response: ServerResponse, { policies, state }: CallLimits): void {
  if (state === "") return;
  response.setHeader("ratelimit-policy", policies);
  response.setHeader("ratelimit", state);
}

/** Counts a request that is no call of the contract; see `Gate.visit`. @throws StoaError `rate_limited` */
export function countVisit(gate: Gate, { callLimits, raw }: FastifyRequest): Promise<void> | undefined {
  return callLimits && gate.visit(callLimits, raw.headers.authorization ?? null);
}

/**
 * Whether a request was refused for a fault of its own, where the call itself has not said so. An RPC that did not come to
 * a call was refused by Connect.
 */
function isFaulty({ routeOptions }: FastifyRequest, { statusCode, raw }: FastifyReply): boolean {
  if (!raw.writableFinished || statusCode === 429 || statusCode === 503) return false;
  // Connect calls a message that it cannot decode 500, over HTTP/1.1, and 200 with a status in the trailer, over gRPC.
  return routeOptions.config.limits === "rpc" || (statusCode >= 400 && statusCode < 500);
}
