import type { DescMethodUnary, MessageShape } from "@bufbuild/protobuf";
import { ConnectError, createContextValues, type Interceptor } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";
import { toStoaError } from "../calls/error-mapping.ts";
import { logKey } from "../calls/log.ts";
import type { ServiceTable } from "../calls/service-table.ts";
import { createUnaryCall } from "../calls/unary-call.ts";
import { bindingsOf } from "../contract/bindings.ts";
import { notFound } from "../errors.ts";
import { cancellation } from "../http/requests/cancellation.ts";
import { readRequest } from "../transcoding/request.ts";

/**
 * Makes a call of the API in this process: the request is given as one of the API's own addresses, and is read, checked
 * and answered as it would be there.
 * @throws StoaError
 */
export type Read<Rpc extends DescMethodUnary> = (
  path: string,
  query: string,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<MessageShape<Rpc["output"]>>;

/** What makes the calls of an RPC. It throws an Error for an RPC that there is not: the service does not start then. */
export interface Readers {
  read<Rpc extends DescMethodUnary>(rpc: Rpc): Read<Rpc>;
}

export function createReaders(table: ServiceTable, interceptors: readonly Interceptor[]): Readers {
  return { read: (rpc) => createRead(rpc, table, interceptors) };
}

function createRead<Rpc extends DescMethodUnary>(
  rpc: Rpc,
  { services, limitsKey }: ServiceTable,
  interceptors: readonly Interceptor[],
): Read<Rpc> {
  const found = services.find(({ service }) => service.typeName === rpc.parent.typeName);
  const [binding] = bindingsOf(rpc.parent).filter((each) => each.rpc.name === rpc.name);
  if (found === undefined || binding === undefined) throw new Error(`${rpc.name} is not served over REST.`);
  const call = createUnaryCall(rpc, found.implementation, interceptors);
  return async (path, query, request, reply) => {
    const captured = binding.path.match(path);
    if (captured === undefined) throw notFound("There is nothing at this address.");
    const message = readRequest(binding, { captured, query, body: undefined });
    try {
      const response = await call(message, {
        method: request.method,
        url: request.originalUrl,
        headers: () => new Headers(),
        signal: cancellation(request, reply),
        values: createContextValues().set(logKey, request.log).set(limitsKey, request.callLimits),
      });
      return response.message as MessageShape<Rpc["output"]>;
    } catch (error) {
      // What the chain lets out has been logged.
      throw error instanceof ConnectError ? toStoaError(error) : error;
    }
  };
}
