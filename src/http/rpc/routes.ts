import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { createHandlerContext, HandlerContext, Interceptor } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import { contextValuesOf, type RequestContext, requestOf } from "../../calls/context.ts";
import { mapErrors } from "../../calls/interceptors.ts";
import { recordOutcomes } from "../../calls/outcome.ts";
import type { RequestBodies } from "../../calls/request-bodies.ts";
import type { ServiceTable } from "../../calls/service-table.ts";
import type { StoaError } from "../../errors.ts";
import type { Admission } from "../admission/admission.ts";
import type { RouteOptions, ServedRoute } from "../edge/route.ts";
import type { Router } from "../edge/router.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { type Admit, admitToContract, admitToTool, refuse } from "./admit.ts";
import { addStream, blameUndecodable, createCompressions } from "./handlers.ts";
import { rpcLimits, rpcPath } from "./paths.ts";
import { isStreamType, refusalOf, unsupportedType } from "./refusal.ts";
import { serveUnary } from "./unary/serve.ts";

export interface RpcOptions {
  table: ServiceTable;
  /** Services beside the table's that anybody may call, outside the contract's rules. */
  tools: ServiceTable["services"];
  interceptors: Interceptor[];
  admission: Admission;
  streams: OpenStreams;
  bodies: RequestBodies;
  /** The largest message that is read, in bytes. */
  readMaxBytes: number;
  /** The header fields that every reply has. */
  commonFields: (context: RequestContext) => Record<string, string>;
  /** Called for each stream. */
  onStream: (context: RequestContext) => void;
}

type Service = ServiceTable["services"][number];

/** How the RPCs of some services are served. */
interface Group {
  services: readonly Service[];
  interceptors: Interceptor[];
  admitTo(service: Service): Admit;
  /** Whether streams notice by themselves that the service stops. */
  endsItself: boolean;
}

/**
 * Adds Connect, gRPC and gRPC-Web for every service of the table: the handlers of unary RPCs are ours, those of streams are
 * Connect's own.
 */
export async function addRpcRoutes(router: Router, options: RpcOptions): Promise<void> {
  const { table, tools, interceptors, admission, bodies, readMaxBytes, commonFields } = options;
  const groups: Group[] = [
    {
      services: table.services,
      interceptors: [recordOutcomes, ...interceptors],
      admitTo: () => admitToContract(admission),
      endsItself: false,
    },
    {
      services: tools,
      interceptors: [recordOutcomes, mapErrors],
      admitTo: (service) => admitToTool(admission, service),
      // Whoever watches the service's health is told that it stops.
      endsItself: true,
    },
  ];
  const messages = { readMaxBytes, compressions: createCompressions(bodies), bodies };
  for (const { services, interceptors, admitTo } of groups) {
    for (const service of services) {
      const unary = { interceptors, admit: admitTo(service), messages, commonFields };
      for (const rpc of methodsOf(service, "unary")) {
        const methods = isRead(rpc) ? ["GET", "POST"] : ["POST"];
        const serve = serveUnary(rpc, service.implementation, unary);
        router.add({ methods, url: rpcPath(rpc), rpc, limits: rpcLimits(rpc), serve, fail });
      }
    }
  }
  await addStreams(router, groups, options, messages.compressions);
}

async function addStreams(
  router: Router,
  groups: readonly Group[],
  { streams, readMaxBytes, onStream }: RpcOptions,
  acceptCompression: ReturnType<typeof createCompressions>,
): Promise<void> {
  const plugin = {
    routes(connect: Parameters<typeof addStream>[0]) {
      for (const { services, interceptors, admitTo, endsItself } of groups) {
        for (const service of services) {
          const admit = admitTo(service);
          for (const rpc of methodsOf(service, "stream")) {
            addStream(connect, rpc, service.implementation, {
              interceptors,
              readMaxBytes,
              // Unknown fields must not be kept: each of two bytes would become several objects that nobody reads.
              binaryOptions: { readUnknownFields: false },
              acceptCompression,
              // As over REST, limits and credentials come before the message: a refused caller learns nothing of its faults.
              requestGate: (context) => enter(context, admit, (...stream) => streams.add(...stream, endsItself)),
            });
          }
        }
      }
    },
    contextValues: ({ context }: { context: RequestContext | undefined }) => contextValuesOf(context as RequestContext),
  };
  const streamed = groups.flatMap(({ services }) => services.flatMap((service) => methodsOf(service, "stream")));
  const routes = streamed.map((rpc) => streamRoute(rpc, onStream));
  await router.register(async (scope) => void (await scope.register(fastifyConnectPlugin, plugin)), routes);
}

/** The route of a streamed RPC: Connect's own handler serves it. @param onStream called for each stream */
function streamRoute(rpc: DescMethod, onStream: (context: RequestContext) => void): RouteOptions {
  const serve: ServedRoute["serve"] = (context, next) => {
    if (!isStreamType(context.request.headers["content-type"])) return unsupportedType;
    onStream(context);
    next();
    return undefined;
  };
  return { methods: ["POST"], url: rpcPath(rpc), rpc, limits: rpcLimits(rpc), serve, fail };
}

/** Answers what fails before a handler has it. */
function fail(context: RequestContext, error: unknown): HttpReply {
  return refusalOf(context.request.headers["content-type"], refuse(context, error));
}

function methodsOf({ service }: Service, kind: "unary" | "stream"): DescMethod[] {
  return service.methods.filter(({ methodKind }) => (methodKind === "unary") === (kind === "unary"));
}

/** Connect also serves reads by GET. */
function isRead({ idempotency }: DescMethod): boolean {
  return idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS;
}

/** Admits a call before its message is read. No interceptor sees a failure here, so it is recorded and mapped here. */
async function enter(
  context: HandlerContext,
  admit: Admit,
  addStream: (request: RequestContext, abort: (reason: StoaError) => void) => void,
): Promise<void> {
  const request = requestOf(context.values);
  blameUndecodable(context, () => {
    request.outcome = "bad_input";
  });
  const { method, requestHeader, signal } = context;
  try {
    await admit(request, { rpc: method, header: (name) => requestHeader.get(name), signal });
    // Streams are admitted last, so that a call that is refused otherwise takes no place. Connect passes the controller of the
    // call's signal as the context.
    const { abort } = context as ReturnType<typeof createHandlerContext>;
    addStream(request, abort);
  } catch (error) {
    throw refuse(request, error);
  }
}
