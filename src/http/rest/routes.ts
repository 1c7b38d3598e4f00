import { ConnectError } from "@connectrpc/connect";
import { outcomeOf, toStoaError, withWarnings } from "../../calls/error-mapping.ts";
import type { InterceptorsOf, ServiceTable } from "../../calls/service-table.ts";
import { isServerStreaming } from "../../calls/stream-call.ts";
import { bindingsOf, isPublicRead } from "../../contract/bindings.ts";
import { notFound } from "../../errors.ts";
import { readRequest } from "../../transcoding/index.ts";
import { type Admission, lateMs } from "../admission/admission.ts";
import type { ServedRoute } from "../edge/route.ts";
import type { Router } from "../edge/router.ts";
import { errorReply, toldFailure } from "../errors/failures.ts";
import { nothingHere } from "../errors/methods.ts";
import type { HttpReply } from "../replies/reply.ts";
import { maxBodyBytes, type RequestBodies } from "../requests/bodies.ts";
import type { RequestContext } from "../requests/context.ts";
import { headersOf } from "../requests/head.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { Addresses, type CheckedRead, type Endpoint } from "./addresses.ts";
import { createStreamAnswer, lastEventIdOf } from "./stream.ts";
import { createAnswer } from "./unary.ts";

interface RestOptions {
  table: ServiceTable;
  interceptors: InterceptorsOf;
  admission: Admission;
  streams: OpenStreams;
  bodies: RequestBodies;
  /** See `createStreamAnswer`. */
  heartbeatMs?: number | undefined;
}

/** Methods whose requests have no body that means anything. */
const bodyless: ReadonlySet<string> = new Set(["GET", "HEAD"]);
/** The header fields of a reply that a page of another origin may read, besides those that it always may. */
const exposedHeaders = "ETag, RateLimit, RateLimit-Policy, Retry-After, Stoa-Receipt, X-Request-Id";
/** The header fields by which pages of any origin may read a reply. */
const openFields = { "access-control-allow-origin": "*", "access-control-expose-headers": exposedHeaders };
/** The header fields of what concerns one caller alone: writes, and reads with a key. */
const privateFields = { "cache-control": "private, no-store" };

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
      const { rpc, template } = (group[0] as Endpoint).binding;
      const isStream = isServerStreaming(rpc);
      const taken = method === "GET" && !isStream ? ["GET", "HEAD"] : [method];
      const maxBody = bodyless.has(method) ? 0 : maxBodyBytes;
      const serve = createServe(group, bodyless.has(method), options);
      router.add({ methods: taken, url, template, rpc, limits: "rest", maxBody, serve });
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

/** Serves the requests of one route and method. @param ignoresBody whether a body means nothing */
function createServe(endpoints: readonly Endpoint[], ignoresBody: boolean, options: RestOptions): ServedRoute["serve"] {
  const { admission, streams, bodies } = options;
  const addresses = new Addresses(endpoints);
  return async (context) => {
    const address = addresses.find(context.url);
    if (address === undefined) {
      await admission.visit(context);
      throw notFound("There is nothing at this address.");
    }
    const { binding, admit, fields, answer } = address.endpoint;
    const { rpc } = binding;
    const isStream = rpc.methodKind === "server_streaming";
    let read: CheckedRead | undefined;
    try {
      // Credentials come before the body: a request without them is answered before its body is read.
      const lateAt = performance.now() + lateMs;
      const admitted = admit(context);
      let caller = admitted === undefined ? undefined : await admitted;
      if (isStream) streams.add(context);
      const { request } = context;
      const body = context.body === undefined ? undefined : await bodies.read(context.body, request);
      if (caller !== undefined && performance.now() > lateAt) caller = await admit(context, caller);
      const lastEventId = isStream ? lastEventIdOf(context) : undefined;
      const known = body === undefined ? address.read : undefined;
      const { method = "", headers } = request;
      const made = known ?? readRequest(binding, { ...address, body, lastEventId, headers });
      const isIgnored = Number(headers["content-length"]) > 0 || headers["transfer-encoding"] !== undefined;
      const hasIgnored = ignoresBody && isIgnored;
      read = hasIgnored ? { ...made, warnings: [...made.warnings, ignoredBody] } : made;
      const call = context.call(rpc, caller);
      const reply = await answer(context, read, { method, url: context.url, headers: () => headersOf(headers), call });
      if (body === undefined && address.read === undefined) addresses.remember(context.url, address, made);
      // Caches know a reply by its address alone, so they must not keep a warning about one caller's body.
      return reply && { ...reply, fields: { ...fields, ...reply.fields, ...(hasIgnored ? privateFields : {}) } };
    } catch (error) {
      // If pages of other origins may read the reply, they may read its failure.
      const told = toldFailure(thrownBy(error, context), context);
      return errorReply(withWarnings(told, read?.warnings ?? []), fields);
    }
  };
}

const ignoredBody = "A GET request takes no body; its parameters belong in the query.";

/** The interceptors have logged what they throw, which is a Connect error. The edge logs everything else. */
function thrownBy(error: unknown, { notes }: RequestContext): unknown {
  if (!(error instanceof ConnectError)) return error;
  notes.outcome = outcomeOf(error);
  return toStoaError(error);
}

function endpointsOf({ table, admission, interceptors, heartbeatMs }: RestOptions): Endpoint[] {
  return table.services.flatMap(({ service, implementation }) =>
    bindingsOf(service).map((binding): Endpoint => {
      const fields = isPublicRead(binding) ? openFields : privateFields;
      const answer = isServerStreaming(binding.rpc)
        ? createStreamAnswer(binding, implementation, interceptors, { fields, heartbeatMs })
        : createAnswer(binding, implementation, interceptors);
      return { binding, admit: admission.admitterOf(binding.rpc), fields, answer };
    }),
  );
}

/** The endpoints by route and method. Those that share both differ in their verbs; the one without a verb comes last. */
function groupByRoute(endpoints: readonly Endpoint[]): Map<string, Map<string, Endpoint[]>> {
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
