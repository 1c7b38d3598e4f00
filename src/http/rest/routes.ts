import type { IncomingHttpHeaders } from "node:http";
import { ConnectError, type Interceptor } from "@connectrpc/connect";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { toStoaError } from "../../calls/error-mapping.ts";
import { readBodiesAsBytes } from "../../calls/request-bodies.ts";
import type { ServiceTable } from "../../calls/service-table.ts";
import { isServerStreaming } from "../../calls/stream-call.ts";
import { type Binding, bindingsOf, isPublicRead } from "../../contract/bindings.ts";
import { notFound } from "../../errors.ts";
import { readRequest, splitTarget } from "../../transcoding/index.ts";
import type { Admission } from "../admission/admission.ts";
import { CallArrival } from "../admission/call-arrival.ts";
import { admitVisit } from "../admission/hooks.ts";
import { nothingHere } from "../errors/methods.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { type Address, RepeatedReads } from "./repeated-reads.ts";
import { createServe, type Serve } from "./serve.ts";
import { wantsEvents } from "./stream.ts";

export interface RestOptions {
  table: ServiceTable;
  interceptors: readonly Interceptor[];
  admission: Admission;
  streams: OpenStreams;
  /** See `sendStream`. */
  heartbeatMs?: number | undefined;
}

/** A binding and what it takes to serve it. */
interface Endpoint {
  binding: Binding;
  serve: Serve;
}

/** The header fields of a reply that a page of another origin may read, besides those that it always may. */
const exposedHeaders = "ETag, RateLimit, RateLimit-Policy, Retry-After, Stoa-Receipt, X-Request-Id";

/**
 * Adds the REST facade to a Fastify instance: a route for each google.api.http binding of each service. It knows the
 * contract's descriptors and annotations, and no endpoint by name. Failures are thrown as `StoaError` to the instance's
 * error handler, in this order: route, credentials, size of the body, JSON, fields.
 */
export function addRestRoutes(
  app: FastifyInstance,
  { table, interceptors, admission, streams, heartbeatMs }: RestOptions,
): void {
  readBodiesAsBytes(app);
  for (const [url, byMethod] of groupByRoute(endpointsOf(table, interceptors, heartbeatMs))) {
    const methods = [...byMethod.keys(), ...(hasPublicRead(byMethod) ? ["OPTIONS"] : [])].sort();
    for (const [method, endpoints] of byMethod) {
      const reads = new RepeatedReads();
      // A stream is sent as it is made, and has no end for which a HEAD could wait. No other route may take the HEAD.
      const isStream = endpoints.some(({ binding }) => isServerStreaming(binding.rpc));
      if (isStream && method === "GET") {
        app.head(url, { config: { isNothing: true } }, async (request, reply) => {
          throw nothingHere(request, reply, methods);
        });
      }
      app.route({
        method,
        url,
        config: { limits: "rest", rpc: (endpoints[0] as Endpoint).binding.rpc },
        ...(isStream ? { compress: false, exposeHeadRoute: false } : {}),
        // Credentials come before the body: a request without them is answered before its body is read.
        onRequest: (request, reply, done) => {
          const { context } = request;
          const address = reads.get(request.originalUrl) ?? findAddress(endpoints, request.originalUrl);
          if (address === undefined) {
            const refuse = () => done(notFound("There is nothing at this address."));
            const visited = admitVisit(admission, request);
            if (visited === undefined) refuse();
            else visited.then(refuse, done);
            return;
          }
          const { binding } = address;
          if (isPublicRead(binding)) allowAnyOrigin(reply);
          const enter = () => {
            if (isStream) streams.add(context, (reason) => context.abort(reason));
            context.target = address;
            // Fastify would refuse a malformed content type before any parser. The headers are only replaced if there is a
            // content type, because that makes later access to them slower.
            if (request.raw.headers["content-type"] !== undefined) request.headers = { "content-type": undefined };
          };
          const admitted = admission.admit(context, new CallArrival(binding.rpc, context));
          if (admitted !== undefined) {
            admitted.then(enter).then(() => done(), done);
            return;
          }
          enter();
          done();
        },
        handler: (request, reply) => serve(endpoints, reads, request, reply),
      });
    }
    // A preflight is never refused, because a browser cannot tell a limit from a ban. The read itself is limited.
    if (hasPublicRead(byMethod)) app.options(url, { config: { limits: "none" } }, answerPreflight);
  }
}

async function serve(
  endpoints: readonly Endpoint[],
  reads: RepeatedReads,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const address = request.context.target as Address;
  const endpoint = endpoints.find(({ binding }) => binding === address.binding) as Endpoint;
  const body = request.body as Buffer | undefined;
  const lastEventId = wantsEvents(request) ? (request.raw.headers["last-event-id"] as string | undefined) : undefined;
  const isAddressAlone = body === undefined && lastEventId === undefined;
  const { binding, captured, query } = address;
  const known = isAddressAlone ? address.read : undefined;
  const read = known ?? readRequest(binding, { captured, query, body, lastEventId });
  const init = {
    method: request.method,
    url: request.originalUrl,
    headers: () => toHeaders(request.raw.headers),
    request: request.context,
  };
  try {
    const served = await endpoint.serve(read, init, request, reply);
    if (isAddressAlone && known === undefined) reads.remember(request.originalUrl, address, read);
    return served;
  } catch (error) {
    // The interceptors have logged what they throw, which is a Connect error. The error handler logs everything else.
    throw error instanceof ConnectError ? toStoaError(error) : error;
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
      serve: createServe(binding, implementation, interceptors, heartbeatMs),
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

function findAddress(endpoints: Endpoint[], url: string): Address | undefined {
  const { path, query } = splitTarget(url);
  for (const { binding } of endpoints) {
    const captured = binding.path.match(path);
    if (captured !== undefined) return { binding, captured, query };
  }
  return undefined;
}

function toHeaders(raw: IncomingHttpHeaders): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(raw)) {
    // The pseudo headers of HTTP/2 are left out.
    if (value !== undefined && !name.startsWith(":")) headers.set(name, String(value));
  }
  return headers;
}

function hasPublicRead(byMethod: ReadonlyMap<string, Endpoint[]>): boolean {
  return [...byMethod.values()].flat().some(({ binding }) => isPublicRead(binding));
}

function allowAnyOrigin(reply: FastifyReply): FastifyReply {
  return reply.header("access-control-allow-origin", "*").header("access-control-expose-headers", exposedHeaders);
}

async function answerPreflight(_request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
  // The wildcard of Fetch does not cover Authorization, which a read may carry.
  allowAnyOrigin(reply)
    .header("access-control-allow-methods", "GET, HEAD")
    .header("access-control-allow-headers", "*, Authorization");
  return reply.header("access-control-max-age", "86400").code(204).send();
}
