import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { mapErrors } from "../../calls/interceptors.ts";
import type { InterceptorsOf, ServiceTable } from "../../calls/service-table.ts";
import type { Admission, Admit } from "../admission/admission.ts";
import type { ServedRoute } from "../edge/route.ts";
import type { Router } from "../edge/router.ts";
import type { HttpReply } from "../replies/reply.ts";
import { maxBodyBytes, type RequestBodies } from "../requests/bodies.ts";
import type { RequestContext } from "../requests/context.ts";
import { noGoodHost } from "../requests/head.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { admitToTool, refuse } from "./admit.ts";
import { createCompressions } from "./messages.ts";
import { checkTrailers, refusalOf, unsupportedType } from "./refusal.ts";
import { createServeCall, isStreamType, type ServeCall } from "./streams.ts";
import { serveUnary } from "./unary/serve.ts";

interface RpcOptions {
  table: ServiceTable;
  /** Further services, which anybody may call, outside the contract's rules. */
  tools: ServiceTable["services"];
  interceptors: InterceptorsOf;
  admission: Admission;
  streams: OpenStreams;
  bodies: RequestBodies;
}

/** The bytes of a unary request besides its message: its prefix, and envelopes that mean nothing in a request. */
const maxFraming = 4 * 1024;

/**
 * Adds Connect, gRPC and gRPC-Web for every service of the table: the handlers of unary RPCs are ours, those of streams are
 * Connect's own.
 */
export function addRpcRoutes(router: Router, options: RpcOptions): void {
  const { table, tools, admission, bodies, streams } = options;
  const messages = { compressions: createCompressions(bodies), bodies };
  const add = (
    { service, implementation }: ServiceTable["services"][number],
    interceptors: InterceptorsOf,
    admitterOf: (rpc: DescMethod) => Admit,
    open: (context: RequestContext) => void,
  ) => {
    for (const rpc of service.methods) {
      const admit = admitterOf(rpc);
      // Health checks are never limited, other RPCs when it is known who calls.
      const limits = service.typeName === Health.typeName ? "none" : "rpc";
      const route = { url: `/${service.typeName}/${rpc.name}`, rpc, limits, fail } as const;
      if (rpc.methodKind === "unary") {
        // Connect also serves reads by GET.
        const isRead = rpc.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
        const methods = isRead ? ["GET", "POST"] : ["POST"];
        const serve = serveUnary(rpc, implementation, { interceptors, admit, messages });
        router.add({ ...route, methods, maxBody: maxBodyBytes + maxFraming, serve });
      } else {
        const serveCall = createServeCall(rpc, implementation, { ...messages, interceptors: interceptors(rpc) });
        const serve = serveStream(rpc, admit, open, serveCall);
        router.add({ ...route, methods: ["POST"], maxBody: "unread", serve });
      }
    }
  };
  const admitterOf = (rpc: DescMethod) => admission.admitterOf(rpc);
  for (const each of table.services) add(each, options.interceptors, admitterOf, (context) => streams.add(context));
  // Whoever watches the service's health is told that it stops, so these streams end by themselves.
  for (const tool of tools) {
    add(
      tool,
      () => [mapErrors],
      () => admitToTool(admission, tool),
      (context) => streams.add(context, true),
    );
  }
}

/**
 * Serves a streamed RPC: admits it, and leaves its call to Connect's own handler. As over REST, limits and credentials come
 * before the message: a refused caller learns nothing of its faults. Streams are counted last, so that a call that is refused
 * otherwise takes no place.
 */
function serveStream(
  rpc: DescMethod,
  admit: Admit,
  open: (context: RequestContext) => void,
  serveCall: ServeCall,
): ServedRoute["serve"] {
  return async (context) => {
    const { headers } = context.request;
    if (!isStreamType(headers["content-type"])) return unsupportedType;
    checkTrailers(context.request);
    // Connect makes a URL of the host. HTTP/1.0 and HTTP/2 may come without one.
    if ((headers.host ?? headers[":authority"]) === undefined) throw noGoodHost();
    const admitted = admit(context);
    const caller = admitted === undefined ? undefined : await admitted;
    open(context);
    const call = context.call(rpc, caller);
    // What Connect refuses itself never comes to the interceptor that ends the span.
    context.onEnd(() => {
      const { outcome = "refused" } = context.notes;
      call.span?.end({ outcome, isFailure: false, code: outcome === "canceled" ? outcome : undefined });
    });
    await serveCall(context, call);
    return undefined;
  };
}

/** Answers a request that fails before a handler has it. */
function fail(context: RequestContext, error: unknown): HttpReply {
  return refusalOf(context.request.headers["content-type"], refuse(context, error));
}
