import type { Interceptor } from "@connectrpc/connect";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { RequestBodies } from "../../calls/request-bodies.ts";
import type { ServiceTable } from "../../calls/service-table.ts";
import { isServerStreaming } from "../../calls/stream-call.ts";
import { bindingsOf, isPublicRead } from "../../contract/bindings.ts";
import { notFound } from "../../errors.ts";
import { readRequest } from "../../transcoding/index.ts";
import type { Admission } from "../admission/admission.ts";
import { CallArrival } from "../admission/call-arrival.ts";
import { admitVisit } from "../admission/hooks.ts";
import { nothingHere } from "../errors/methods.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { createAnswer } from "./answer.ts";
import { type Address, type Endpoint, Endpoints, fieldsOf, initOf, openFields, toThrown } from "./endpoints.ts";
import { sendByFastify } from "./send.ts";
import { createServeStream, type ServeStream } from "./serve-stream.ts";
import { wantsEvents } from "./stream.ts";

export interface RestOptions {
  table: ServiceTable;
  interceptors: readonly Interceptor[];
  admission: Admission;
  streams: OpenStreams;
  bodies: RequestBodies;
  /** See `sendStream`. */
  heartbeatMs?: number | undefined;
}

/**
 * Adds the REST facade to a Fastify instance: a route for each google.api.http binding of each service. It knows the
 * contract's descriptors and annotations, and no endpoint by name. Failures are thrown as `StoaError` to the instance's
 * error handler, in this order: route, credentials, size of the body, JSON, fields.
 */
export function addRestRoutes(
  app: FastifyInstance,
  { table, interceptors, admission, streams, bodies, heartbeatMs }: RestOptions,
): void {
  bodies.readAsBytes(app);
  for (const [url, byMethod] of groupByRoute(endpointsOf(table, interceptors, heartbeatMs))) {
    const methods = [...byMethod.keys(), ...(hasPublicRead(byMethod) ? ["OPTIONS"] : [])].sort();
    for (const [method, group] of byMethod) {
      const endpoints = new Endpoints(group);
      // A stream is sent as it is made, and has no end for which a HEAD could wait. No other route may take the HEAD.
      const isStream = group.some(({ serveStream }) => serveStream !== undefined);
      if (isStream && method === "GET") {
        app.head(url, { config: { isNothing: true } }, async (request, reply) => {
          throw nothingHere(request, reply, methods);
        });
      }
      app.route({
        method,
        url,
        config: { limits: "rest", rpc: (group[0] as Endpoint).binding.rpc, endpoints },
        ...(isStream ? { compress: false, exposeHeadRoute: false } : {}),
        // Credentials come before the body: a request without them is answered before its body is read.
        onRequest: (request, reply, done) => {
          const { context } = request;
          const address = endpoints.find(context.url);
          if (address === undefined) {
            const refuse = () => done(notFound("There is nothing at this address."));
            const visited = admitVisit(admission, request);
            if (visited === undefined) refuse();
            else visited.then(refuse, done);
            return;
          }
          reply.headers(fieldsOf(address.binding));
          const enter = () => {
            if (isStream) streams.add(context, (reason) => context.abort(reason));
            context.target = address;
            // Fastify would refuse a malformed content type before any parser. The headers are only replaced if there is a
            // content type, because that makes later access to them slower.
            if (request.raw.headers["content-type"] !== undefined) request.headers = { "content-type": undefined };
          };
          const admitted = admission.admit(context, new CallArrival(address.binding.rpc, context));
          if (admitted !== undefined) {
            admitted.then(enter).then(() => done(), done);
            return;
          }
          enter();
          done();
        },
        handler: (request, reply) => serve(endpoints, request, reply),
      });
    }
    // A preflight is never refused, because a browser cannot tell a limit from a ban. The read itself is limited.
    if (hasPublicRead(byMethod)) app.options(url, { config: { limits: "none" } }, answerPreflight);
  }
}

async function serve(endpoints: Endpoints, request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  const { context } = request;
  const address = context.target as Address;
  const { answer, serveStream } = address.endpoint;
  const body = request.body as Buffer | undefined;
  if (answer !== undefined)
    return sendByFastify(await endpoints.answer(context, address, answer, body), request, reply);
  const { binding, captured, query } = address;
  const lastEventId = wantsEvents(request) ? (request.raw.headers["last-event-id"] as string | undefined) : undefined;
  const read = readRequest(binding, { captured, query, body, lastEventId });
  try {
    return await (serveStream as ServeStream)(read, initOf(context), request, reply);
  } catch (error) {
    throw toThrown(error);
  }
}

function endpointsOf(
  { services }: ServiceTable,
  interceptors: readonly Interceptor[],
  heartbeatMs: number | undefined,
): Endpoint[] {
  return services.flatMap(({ service, implementation }) =>
    bindingsOf(service).map((binding) => ({
      binding,
      ...(isServerStreaming(binding.rpc)
        ? { answer: undefined, serveStream: createServeStream(binding, implementation, interceptors, heartbeatMs) }
        : { answer: createAnswer(binding, implementation, interceptors), serveStream: undefined }),
    })),
  );
}

/** The endpoints by route and method. Those that share both differ in their verbs; the one without a verb comes last. */
function groupByRoute(endpoints: Endpoint[]): Map<string, Map<string, Endpoint[]>> {
  const groups = new Map<string, Map<string, Endpoint[]>>();
  for (const endpoint of endpoints) {
    const { path, httpMethod, rpc } = endpoint.binding;
    for (const route of path.routes) {
      const byMethod = groups.get(route) ?? new Map<string, Endpoint[]>();
      const group = byMethod.get(httpMethod) ?? [];
      const rival = group.find(({ binding }) => binding.path.verb === path.verb)?.binding.rpc;
      if (rival !== undefined) throw new Error(`${rpc.name} and ${rival.name} would answer the same paths: ${route}`);
      groups.set(
        route,
        byMethod.set(httpMethod, path.verb === undefined ? [...group, endpoint] : [endpoint, ...group]),
      );
    }
  }
  return groups;
}

function hasPublicRead(byMethod: ReadonlyMap<string, Endpoint[]>): boolean {
  return [...byMethod.values()].flat().some(({ binding }) => isPublicRead(binding));
}

async function answerPreflight(_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  // The wildcard of Fetch does not cover Authorization, which a read may carry.
  reply
    .headers(openFields)
    .header("access-control-allow-methods", "GET, HEAD")
    .header("access-control-allow-headers", "*, Authorization");
  return reply.header("access-control-max-age", "86400").code(204).send();
}
