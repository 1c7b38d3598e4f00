import type { Interceptor } from "@connectrpc/connect";
import type { ServiceTable } from "../../calls/service-table.ts";
import { isServerStreaming } from "../../calls/stream-call.ts";
import { bindingsOf, isPublicRead } from "../../contract/bindings.ts";
import { notFound } from "../../errors.ts";
import type { Admission } from "../admission/admission.ts";
import { CallArrival } from "../admission/call-arrival.ts";
import type { Answer } from "../edge/route.ts";
import type { Router } from "../edge/router.ts";
import { errorReply, toldFailure } from "../errors/failures.ts";
import { nothingHere } from "../errors/methods.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";
import type { RequestBodies } from "../requests/request-bodies.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { createAnswer } from "./answer.ts";
import { type Endpoint, Endpoints, fieldsOf, openFields } from "./endpoints.ts";
import { createServeStream } from "./serve-stream.ts";

export interface RestOptions {
  table: ServiceTable;
  interceptors: readonly Interceptor[];
  admission: Admission;
  streams: OpenStreams;
  bodies: RequestBodies;
  /** The header fields that every reply has. */
  commonFields: (context: RequestContext) => Record<string, string>;
  /** See `sendStream`. */
  heartbeatMs?: number | undefined;
}

/** Methods whose requests have no body that means anything. */
const bodyless: ReadonlySet<string | undefined> = new Set(["GET", "HEAD"]);

/**
 * Adds the REST facade: a route for each google.api.http binding of each service. It knows the contract's descriptors and
 * annotations, and no endpoint by name. Requests are checked in this order: route, credentials, size of the body, JSON,
 * fields.
 */
export function addRestRoutes(router: Router, options: RestOptions): void {
  for (const [url, byMethod] of groupByRoute(endpointsOf(options))) {
    const isOpen = [...byMethod.values()].flat().some(({ binding }) => isPublicRead(binding));
    const methods = [...byMethod.keys(), ...(isOpen ? ["OPTIONS"] : [])].sort();
    for (const [method, group] of byMethod) {
      const rpc = (group[0] as Endpoint).binding.rpc;
      const serve = createServe(new Endpoints(group), options);
      const isStream = isServerStreaming(rpc);
      const taken = method === "GET" && !isStream ? ["GET", "HEAD"] : [method];
      router.add({ methods: taken, url, rpc, limits: "rest", serve });
      // A stream is sent as it is made, and has no end for which a HEAD could wait. No other route may take the HEAD.
      if (method === "GET" && isStream) {
        const refuse = (): never => {
          throw nothingHere("HEAD", methods);
        };
        router.add({ methods: ["HEAD"], url, isNothing: true, serve: refuse });
      }
    }
    // A preflight is never refused, because a browser cannot tell a limit from a ban. The read itself is limited.
    if (isOpen) router.add({ methods: ["OPTIONS"], url, limits: "none", serve: () => preflight });
  }
}

function createServe(endpoints: Endpoints, { admission, streams, bodies }: RestOptions) {
  return async (context: RequestContext): Promise<Answer> => {
    const address = endpoints.find(context.url);
    if (address === undefined) {
      await admission.visit(context);
      throw notFound("There is nothing at this address.");
    }
    const { binding, endpoint } = address;
    const fields = fieldsOf(binding);
    try {
      // Credentials come before the body: a request without them is answered before its body is read.
      const admitted = admission.admit(context, new CallArrival(binding.rpc, context));
      const caller = admitted === undefined ? undefined : await admitted;
      const isStream = endpoint.serveStream !== undefined;
      if (isStream) streams.add(context);
      const body = bodyless.has(context.request.method) ? undefined : await bodies.read(context.request);
      if (isStream) return await endpoints.serveStream(context, caller, address, { body, fields });
      const reply = await endpoints.answer(context, caller, address, body);
      return fields === undefined ? reply : { ...reply, fields: { ...fields, ...reply.fields } };
    } catch (error) {
      // A page of another origin may read the failure of what it may read.
      return errorReply(toldFailure(error, context), fields);
    }
  };
}

function endpointsOf({ table, interceptors, commonFields, heartbeatMs }: RestOptions): Endpoint[] {
  const sending = { commonFields, heartbeatMs };
  return table.services.flatMap(({ service, implementation }) =>
    bindingsOf(service).map((binding) => ({
      binding,
      ...(isServerStreaming(binding.rpc)
        ? { answer: undefined, serveStream: createServeStream(binding, implementation, interceptors, sending) }
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

const preflight: HttpReply = {
  status: 204,
  fields: {
    ...openFields,
    "access-control-allow-methods": "GET, HEAD",
    // The wildcard of Fetch does not cover Authorization, which a read may carry.
    "access-control-allow-headers": "*, Authorization",
    "access-control-max-age": "86400",
  },
};
