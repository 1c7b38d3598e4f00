import type { Interceptor } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { CallInit } from "../../calls/call-context.ts";
import type { Implementation } from "../../calls/service-table.ts";
import { createStreamCall, isServerStreaming } from "../../calls/stream-call.ts";
import type { Binding } from "../../contract/bindings.ts";
import { responseOf } from "../../contract/responses.ts";
import type { ReadRequest } from "../../transcoding/index.ts";
import { asEvents, asLines, sendStream, wantsEvents } from "./stream.ts";

/** Makes the streaming call of a binding and sends its reply. */
export type ServeStream = (
  read: ReadRequest,
  init: CallInit,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<FastifyReply>;

/**
 * @param heartbeatMs see `sendStream`
 * @throws Error for an RPC without an implementation or one that REST cannot serve; the service then does not start
 */
export function createServeStream(
  binding: Binding,
  implementation: Implementation,
  interceptors: readonly Interceptor[],
  heartbeatMs: number | undefined,
): ServeStream {
  const { rpc } = binding;
  if (!isServerStreaming(rpc)) throw new Error(`${rpc.parent.typeName}.${rpc.name} is not a stream of responses.`);
  const call = createStreamCall(rpc, implementation, interceptors);
  const { desc, select } = responseOf(binding);
  const lines = asLines(desc, select);
  const events = asEvents(desc, select);
  return async ({ message }, init, request, reply) => {
    const messages = await call(message, init);
    return sendStream(request, reply, wantsEvents(request) ? events : lines, messages, heartbeatMs);
  };
}
