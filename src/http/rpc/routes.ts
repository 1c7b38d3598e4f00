import type { DescMethod } from "@bufbuild/protobuf";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { ConnectRouter } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import { mapErrors } from "../../calls/interceptors.ts";
import type { InterceptorsOf, ServiceTable } from "../../calls/service-table.ts";
import type { Admission } from "../admission/admission.ts";
import type { HandedOver, RouteOptions, ServedRoute } from "../edge/route.ts";
import type { Router } from "../edge/router.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestBodies } from "../requests/bodies.ts";
import type { RequestContext } from "../requests/context.ts";
import { noGoodHost } from "../requests/head.ts";
import { isStreamType } from "../requests/rpc-types.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { type Admit, admitToContract, admitToTool, refuse } from "./admit.ts";
import { addStream, createCompressions } from "./handlers.ts";
import { rpcLimits, rpcPath } from "./paths.ts";
import { refusalOf, unsupportedType } from "./refusal.ts";
import { noteEnds, valuesOf } from "./stream-calls.ts";
import type { MessageOptions } from "./unary/exchange.ts";
import { serveUnary } from "./unary/serve.ts";

export interface RpcOptions {
  table: ServiceTable;
  /** Services beside the table's that anybody may call, outside the contract's rules. */
  tools: ServiceTable["services"];
  interceptors: InterceptorsOf;
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

/** The bytes of a unary request besides its message: its prefix, and envelopes that mean nothing in a request. */
const maxFraming = 4 * 1024;

type Service = ServiceTable["services"][number];

/** How the RPCs of some services are served. */
interface Group {
  services: readonly Service[];
  interceptors: InterceptorsOf;
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
      interceptors,
      admitTo: () => admitToContract(admission),
      endsItself: false,
    },
    {
      services: tools,
      interceptors: () => [mapErrors],
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
        const maxBody = readMaxBytes + maxFraming;
        router.add({ methods, url: rpcPath(rpc), rpc, limits: rpcLimits(rpc), maxBody, serve, fail });
      }
    }
  }
  await addStreams(router, groups, options, messages);
}

async function addStreams(
  router: Router,
  groups: readonly Group[],
  { streams, onStream }: RpcOptions,
  messages: MessageOptions,
): Promise<void> {
  // Unknown fields must not be kept: each of two bytes would become several objects that nobody reads.
  const options = { ...messages, binaryOptions: { readUnknownFields: false } };
  const routes: RouteOptions[] = [];
  const handlers: ((connect: ConnectRouter) => void)[] = [];
  for (const { services, interceptors, admitTo, endsItself } of groups) {
    for (const service of services) {
      const admit = admitTo(service);
      for (const rpc of methodsOf(service, "stream")) {
        handlers.push((connect) =>
          addStream(connect, rpc, service.implementation, {
            ...options,
            interceptors: [noteEnds, ...interceptors(rpc)],
          }),
        );
        const open = (context: RequestContext) => {
          streams.add(context, endsItself);
          onStream(context);
        };
        routes.push({
          methods: ["POST"],
          url: rpcPath(rpc),
          rpc,
          limits: rpcLimits(rpc),
          serve: serveStream(rpc, admit, open),
          fail,
        });
      }
    }
  }
  const plugin = {
    routes: (connect: ConnectRouter) => {
      for (const add of handlers) add(connect);
    },
    contextValues: ({ handedOver }: { handedOver: HandedOver | undefined }) => valuesOf(handedOver as HandedOver),
  };
  await router.register(async (scope) => void (await scope.register(fastifyConnectPlugin, plugin)), routes);
}

/**
 * Serves a streamed RPC: admits it, and hands it over to Connect's own handler. As over REST, limits and credentials come
 * before the message: a refused caller learns nothing of its faults. Streams are counted last, so that a call that is refused
 * otherwise takes no place.
 */
function serveStream(rpc: DescMethod, admit: Admit, open: (context: RequestContext) => void): ServedRoute["serve"] {
  return async (context, next) => {
    const { headers } = context.request;
    if (!isStreamType(headers["content-type"])) return unsupportedType;
    // Connect makes a URL of the host. HTTP/1.0 and HTTP/2 may come without one.
    if ((headers.host ?? headers[":authority"]) === undefined) throw noGoodHost();
    const admitted = admit(context, rpc);
    const caller = admitted === undefined ? undefined : await admitted;
    open(context);
    const call = context.call(rpc, caller);
    // What Connect refuses itself never comes to the interceptor that ends the span.
    context.onEnd(() => call.span?.end(context.notes.outcome ?? "refused", false));
    next({ call, context });
    return undefined;
  };
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
