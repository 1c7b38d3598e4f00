import type { IncomingMessage, ServerResponse } from "node:http";
import type { ServerHttp2Stream } from "node:http2";
import { MethodOptions_IdempotencyLevel } from "@bufbuild/protobuf/wkt";
import {
  createContextValues,
  type createHandlerContext,
  type HandlerContext,
  type Interceptor,
} from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import type { FastifyInstance } from "fastify";
import { Health } from "../../../gen/grpc/health/v1/health_pb.js";
import { toConnectError } from "../../calls/error-mapping.ts";
import { isFault, mapErrors } from "../../calls/interceptors.ts";
import { logKey } from "../../calls/log.ts";
import type { ServiceTable } from "../../calls/service-table.ts";
import type { CallLimits } from "../../rate-limits/call-limits.ts";
import type { Gate } from "../admission/gate.ts";
import { countVisit, setLimitFields } from "../admission/hooks.ts";
import { nothingHere } from "../errors/methods.ts";
import { respellMessages } from "../grpc/status-message.ts";
import { recordFailure, recordOutcome, recordOutcomes, requestKey } from "../metrics/outcome.ts";
import type { OpenStreams } from "../streams/open-streams.ts";
import { addService, blameUndecodable, compressions, type ServiceOptions } from "./handlers.ts";

export interface RpcOptions {
  table: ServiceTable;
  /** Services beside the table's that anybody may call, outside the contract's rules. */
  tools: ServiceTable["services"];
  interceptors: Interceptor[];
  gate: Gate;
  streams: OpenStreams;
  /** The largest message that is read, in bytes. */
  readMaxBytes: number;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The response of an RPC. */
    rpcResponse: ServerResponse | undefined;
  }
}

/** Adds Connect, gRPC and gRPC-Web for every service of the table. */
export async function addRpcRoutes(
  app: FastifyInstance,
  { table, tools, interceptors, gate, streams, readMaxBytes }: RpcOptions,
): Promise<void> {
  app.decorateRequest("rpcResponse", undefined);
  const readPaths = pathsOfReads([...table.services, ...tools]);
  app.addHook("onRequest", async (request, reply) => {
    const isRead = readPaths.has(request.routeOptions.url ?? "");
    if (request.method === "POST" || (request.method === "GET" && isRead)) return;
    // Connect would answer 405 without a word.
    await countVisit(gate, request);
    throw nothingHere(request, reply, isRead ? ["GET", "POST"] : ["POST"]);
  });
  app.addHook("onRequest", (request, reply, done) => {
    request.rpcResponse = reply.raw;
    respellMessages(reply.raw);
    dropRestOfRequest(request.raw);
    beforeHead(reply.raw, (response) => {
      // Connect stops reading a message that is too large, and Node then reads no more of the connection: where the reply
      // begins before the request has arrived whole, the client is told not to use the connection again.
      if (request.raw.httpVersionMajor === 1 && !request.raw.complete) response.setHeader("connection", "close");
      const { callLimits } = request;
      if (callLimits === undefined) return;
      gate.describe(callLimits);
      setLimitFields(response, callLimits);
    });
    done();
  });
  /** What fails before a call begins, no interceptor sees. */
  const enter = async (context: HandlerContext, action: (limits: CallLimits) => unknown): Promise<void> => {
    const { values } = context;
    const limits = values.get(table.limitsKey) as CallLimits;
    blameUndecodable(context, () => recordOutcome(values.get(requestKey), "bad_input"));
    try {
      await action(limits);
    } catch (error) {
      recordFailure(values.get(requestKey), error);
      limits.faulty = isFault(error);
      throw toConnectError(error);
    }
  };
  /** Streams are admitted last: a call that is refused otherwise takes no place. */
  const enterStream = (context: HandlerContext, { agent }: CallLimits): void => {
    const request = context.values.get(requestKey);
    if (request?.rpcResponse === undefined) return;
    // What Connect hands over is the controller of the call's signal.
    const { abort } = context as ReturnType<typeof createHandlerContext>;
    streams.add({ request: request.raw, response: request.rpcResponse, agent, abort });
  };
  const common: ServiceOptions = {
    interceptors: [recordOutcomes, ...interceptors],
    readMaxBytes,
    // What nobody will read must not be kept: each unknown field of two bytes would become several objects.
    binaryOptions: { readUnknownFields: false },
    acceptCompression: compressions,
    // As over REST, limits and credentials come before the message: who lacks them learns nothing of its faults.
    requestGate: (context) =>
      enter(context, async (limits) => {
        const { method, requestHeader, signal, values } = context;
        const header = (name: string) => requestHeader.get(name);
        const caller = await gate.admit(limits, { rpc: method, header, signal });
        if (caller !== undefined) values.set(table.callerKey, caller);
        if (method.methodKind !== "unary") enterStream(context, limits);
      }),
  };
  await app.register(fastifyConnectPlugin, {
    routes(router) {
      for (const service of table.services) addService(router, service, common);
      for (const service of tools) {
        // Whoever watches the service is never told to wait.
        const isCounted = service.service.typeName !== Health.typeName;
        addService(router, service, {
          ...common,
          interceptors: [recordOutcomes, mapErrors(table.limitsKey)],
          requestGate: (context) =>
            enter(context, async (limits) => {
              const authorization = context.requestHeader.get("authorization");
              await (isCounted ? gate.visit(limits, authorization) : gate.identify(limits, authorization));
              if (context.method.methodKind !== "unary") enterStream(context, limits);
            }),
        });
      }
    },
    contextValues: (request) =>
      createContextValues().set(logKey, request.log).set(requestKey, request).set(table.limitsKey, request.callLimits),
  });
}

/** The addresses of the RPCs that Connect also serves by GET. */
function pathsOfReads(services: ServiceTable["services"]): ReadonlySet<string> {
  const reads = services
    .flatMap(({ service }) => service.methods)
    .filter((rpc) => rpc.methodKind === "unary" && rpc.idempotency === MethodOptions_IdempotencyLevel.NO_SIDE_EFFECTS);
  return new Set(reads.map(({ parent, name }) => `/${parent.typeName}/${name}`));
}

/**
 * Connect stops reading a message that it refuses. An HTTP/2 client that sends all of it before it looks at the reply would
 * then wait for flow control until the request times out; what it still sends once the reply is complete is dropped.
 */
function dropRestOfRequest(request: IncomingMessage & { stream?: ServerHttp2Stream }): void {
  const { stream } = request;
  stream?.once("finish", () => stream.removeAllListeners("data").resume());
}

/** Calls `action` just before the head of a response is written, when all that its headers say is known. */
function beforeHead(response: ServerResponse, action: (response: ServerResponse) => void): void {
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = (...args: unknown[]) => {
    action(response);
    return writeHead(...args);
  };
}
