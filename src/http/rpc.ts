import type { IncomingMessage, ServerResponse } from "node:http";
import type { DescService } from "@bufbuild/protobuf";
import { type ConnectRouter, createContextValues, type Interceptor, type ServiceImpl } from "@connectrpc/connect";
import { fastifyConnectPlugin } from "@connectrpc/connect-fastify";
import type { FastifyInstance } from "fastify";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { accessOf } from "../contract.ts";
import { toConnectError } from "./error-mapping.ts";
import { mapErrors } from "./interceptors.ts";
import { logKey } from "./log.ts";
import type { ServiceTable } from "./services.ts";

export interface RpcOptions {
  table: ServiceTable;
  /** Services beside the table's that anybody may call, outside the contract's rules. */
  tools: ServiceTable["services"];
  interceptors: Interceptor[];
  /** The largest message that is read, in bytes. */
  readMaxBytes: number;
}

/** Adds Connect, gRPC and gRPC-Web for every service of the table. */
export async function addRpcRoutes(
  app: FastifyInstance,
  { table, tools, interceptors, readMaxBytes }: RpcOptions,
): Promise<void> {
  app.addHook("onRequest", async ({ raw }, reply) => {
    if (raw.httpVersionMajor === 1) endConnectionIfUnread(raw, reply.raw);
  });
  await app.register(fastifyConnectPlugin, {
    interceptors,
    readMaxBytes,
    routes(router: ConnectRouter) {
      for (const { service, implementation } of table.services) {
        router.service(service, implementation as Partial<ServiceImpl<DescService>>);
      }
      for (const { service, implementation } of tools) {
        const outside = { interceptors: [mapErrors], requestGate() {} };
        router.service(service, implementation as Partial<ServiceImpl<DescService>>, outside);
      }
    },
    contextValues: (request) => createContextValues().set(logKey, request.log),
    // As over REST, credentials come before the message: who lacks them learns nothing of its faults.
    async requestGate({ method, requestHeader, signal, values }) {
      if (accessOf(method) === Access.PUBLIC) return;
      try {
        values.set(table.callerKey, await table.authenticate(method, (name) => requestHeader.get(name), signal));
      } catch (error) {
        throw toConnectError(error);
      }
    },
  });
}

/**
 * Connect stops reading a message that is too large, and Node then reads no more of the connection: where the reply begins
 * before the request has arrived whole, the client is told not to use the connection again.
 */
function endConnectionIfUnread(request: IncomingMessage, response: ServerResponse): void {
  const writeHead = response.writeHead.bind(response) as (...args: unknown[]) => ServerResponse;
  response.writeHead = (...args: unknown[]) => {
    if (!request.complete) response.setHeader("connection", "close");
    return writeHead(...args);
  };
}
