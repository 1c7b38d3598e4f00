import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { createHandlerContext, HandlerContext, Interceptor } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import type { FastifyInstance } from "fastify";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { contextValuesOf, type RequestContext, requestOf } from "../../calls/context.ts";
import { toConnectError } from "../../calls/error-mapping.ts";
import { isFault, mapErrors } from "../../calls/interceptors.ts";
import { recordFailure, recordOutcomes } from "../../calls/outcome.ts";
import type { ServiceTable } from "../../calls/service-table.ts";
import type { Admission } from "../admission/admission.ts";
import { admitVisit } from "../admission/hooks.ts";
import { nothingHere } from "../errors/methods.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { addService, blameUndecodable, compressions, type ServiceOptions } from "./handlers.ts";
import { isIncomplete } from "./response.ts";

export interface RpcOptions {
  table: ServiceTable;
  /** Services beside the table's that anybody may call, outside the contract's rules. */
  tools: ServiceTable["services"];
  interceptors: Interceptor[];
  admission: Admission;
  streams: OpenStreams;
  /** The largest message that is read, in bytes. */
  readMaxBytes: number;
}

/** Adds Connect, gRPC and gRPC-Web for every service of the table. */
export async function addRpcRoutes(
  app: FastifyInstance,
  { table, tools, interceptors, admission, streams, readMaxBytes }: RpcOptions,
): Promise<void> {
  const readPaths = pathsOfReads([...table.services, ...tools]);
  app.addHook("onRequest", async (request, reply) => {
    const isRead = readPaths.has(request.routeOptions.url ?? "");
    if (request.method === "POST" || (request.method === "GET" && isRead)) return;
    // Connect would answer 405 without a body.
    await admitVisit(admission, request);
    throw nothingHere(request, reply, isRead ? ["GET", "POST"] : ["POST"]);
  });
  // Connect's own responses do not pass this hook; see `RpcResponse`.
  app.addHook("onSend", (request, reply, payload, done) => {
    if (isIncomplete(request.raw)) reply.header("connection", "close");
    done(null, payload);
  });
  const common: ServiceOptions = {
    interceptors: [recordOutcomes, ...interceptors],
    readMaxBytes,
    // Unknown fields must not be kept: each of two bytes would become several objects that nobody reads.
    binaryOptions: { readUnknownFields: false },
    acceptCompression: compressions,
    // As over REST, limits and credentials come before the message: a refused caller learns nothing of its faults.
    requestGate: (context) =>
      enter(context, streams, (request) => {
        const { method, requestHeader, signal } = context;
        return admission.admit(request, { rpc: method, header: (name) => requestHeader.get(name), signal });
      }),
  };
  await app.register(fastifyConnectPlugin, {
    routes(router) {
      for (const service of table.services) addService(router, service, common);
      for (const service of tools) {
        // A client that watches the service's health is never told to wait.
        const isCounted = service.service.typeName !== Health.typeName;
        addService(router, service, {
          ...common,
          interceptors: [recordOutcomes, mapErrors],
          requestGate: (context) =>
            enter(context, streams, (request) => {
              const authorization = context.requestHeader.get("authorization");
              return isCounted ? admission.visit(request, authorization) : admission.identify(request, authorization);
            }),
        });
      }
    },
    contextValues: ({ context }) => contextValuesOf(context),
  });
}

/** Admits a call before its message is read. No interceptor sees a failure here, so it is recorded and mapped here. */
async function enter(
  context: HandlerContext,
  streams: OpenStreams,
  admit: (request: RequestContext) => Promise<void> | undefined,
): Promise<void> {
  const request = requestOf(context.values);
  blameUndecodable(context, () => {
    request.outcome = "bad_input";
  });
  try {
    await admit(request);
    // Streams are admitted last, so that a call that is refused otherwise takes no place.
    if (context.method.methodKind !== "unary") {
      // Connect passes the controller of the call's signal as the context.
      const { abort } = context as ReturnType<typeof createHandlerContext>;
      streams.add(request, abort);
    }
  } catch (error) {
    recordFailure(request, error);
    request.isFault = isFault(error);
    throw toConnectError(error);
  }
}

/** The addresses of the RPCs that Connect also serves by GET. */
function pathsOfReads(services: ServiceTable["services"]): ReadonlySet<string> {
  const reads = services
    .flatMap(({ service }) => service.methods)
    .filter((rpc) => rpc.methodKind === "unary" && rpc.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS);
  return new Set(reads.map(({ parent, name }) => `/${parent.typeName}/${name}`));
}
