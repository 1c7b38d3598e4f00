import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import type { createHandlerContext, HandlerContext, Interceptor } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import type { FastifyInstance } from "fastify";
import { contextValuesOf, type RequestContext, requestOf } from "../../calls/context.ts";
import { mapErrors } from "../../calls/interceptors.ts";
import { recordOutcomes } from "../../calls/outcome.ts";
import type { RequestBodies } from "../../calls/request-bodies.ts";
import type { ServiceTable } from "../../calls/service-table.ts";
import type { StoaError } from "../../errors.ts";
import type { Admission } from "../admission/admission.ts";
import { admitVisit } from "../admission/hooks.ts";
import type { CommonFields, DirectRequests, FindDirect } from "../direct/direct-requests.ts";
import { nothingHere } from "../errors/methods.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { type Admit, admitToContract, admitToTool, refuse } from "./admit.ts";
import { addService, blameUndecodable, createCompressions } from "./handlers.ts";
import { isIncomplete } from "./response.ts";
import { createUnaryHandlers } from "./unary/serve.ts";

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
  /** Gets our handlers of unary calls. */
  direct: Pick<DirectRequests, "add">;
  commonFields: CommonFields;
}

/**
 * Adds Connect, gRPC and gRPC-Web for every service of the table. Connect's own handlers serve streams, and the unary
 * requests that ours leave to them.
 */
export async function addRpcRoutes(
  app: FastifyInstance,
  { table, tools, interceptors, admission, streams, bodies, readMaxBytes, direct, commonFields }: RpcOptions,
): Promise<void> {
  const readPaths = pathsOfReads([...table.services, ...tools]);
  app.addHook("onRequest", (request, reply, done) => {
    const { method } = request;
    const isRead = method !== "POST" && readPaths.has(request.routeOptions.url ?? "");
    if (method === "POST" || (method === "GET" && isRead)) return done();
    // Connect would answer 405 without a body.
    const refuse = () => done(nothingHere(request, reply, isRead ? ["GET", "POST"] : ["POST"]));
    Promise.try(() => admitVisit(admission, request)).then(refuse, done);
  });
  // Connect's own responses do not pass this hook; see `RpcResponse`.
  app.addHook("onSend", (request, reply, payload, done) => {
    if (isIncomplete(request.raw)) reply.header("connection", "close");
    done(null, payload);
  });
  const contract = {
    services: table.services,
    interceptors: [recordOutcomes, ...interceptors],
    admit: () => admitToContract(admission),
    endsItself: false,
  };
  const ofTools = {
    services: tools,
    interceptors: [recordOutcomes, mapErrors],
    admit: (service: ServiceTable["services"][number]) => admitToTool(admission, service),
    // Whoever watches the service's health is told that it stops.
    endsItself: true,
  };
  const compressions = createCompressions(bodies);
  const messages = { readMaxBytes, compressions, bodies };
  const unary = [contract, ofTools].flatMap(({ services, interceptors, admit }) =>
    services.flatMap((service) => [
      ...createUnaryHandlers(service, { interceptors, admit: admit(service), messages, commonFields }),
    ]),
  );
  direct.add(findByPath(new Map(unary), readPaths));
  await app.register(fastifyConnectPlugin, {
    routes(router) {
      for (const { services, interceptors, admit, endsItself } of [contract, ofTools]) {
        for (const service of services) {
          const admitOne = admit(service);
          addService(router, service, {
            interceptors,
            readMaxBytes,
            // Unknown fields must not be kept: each of two bytes would become several objects that nobody reads.
            binaryOptions: { readUnknownFields: false },
            acceptCompression: compressions,
            // As over REST, limits and credentials come before the message: a refused caller learns nothing of its faults.
            requestGate: (context) => enter(context, admitOne, (...stream) => streams.add(...stream, endsItself)),
          });
        }
      }
    },
    contextValues: ({ context }) => contextValuesOf(context),
  });
}

/** Finds the RPC of a request. @param readPaths the addresses that also take a GET */
function findByPath(finders: ReadonlyMap<string, FindDirect>, readPaths: ReadonlySet<string>): FindDirect {
  return (request) => {
    const { method, url = "" } = request;
    if (method === "POST") return finders.get(url)?.(request);
    const [path = ""] = url.split("?", 1);
    return method === "GET" && readPaths.has(path) ? finders.get(path)?.(request) : undefined;
  };
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
    // Streams are admitted last, so that a call that is refused otherwise takes no place.
    if (method.methodKind !== "unary") {
      // Connect passes the controller of the call's signal as the context.
      const { abort } = context as ReturnType<typeof createHandlerContext>;
      addStream(request, abort);
    }
  } catch (error) {
    throw refuse(request, error);
  }
}

/** The addresses of the RPCs that Connect also serves by GET. */
function pathsOfReads(services: ServiceTable["services"]): ReadonlySet<string> {
  const reads = services
    .flatMap(({ service }) => service.methods)
    .filter((rpc) => rpc.methodKind === "unary" && rpc.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS);
  return new Set(reads.map(({ parent, name }) => `/${parent.typeName}/${name}`));
}
