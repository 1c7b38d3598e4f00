import type { DescMethod, DescMethodServerStreaming, Message } from "@bufbuild/protobuf";
import type { HandlerContext, StreamRequest, StreamResponse } from "@connectrpc/connect";
import { CallContext, type CallInit } from "./call.ts";
import type { Implementation, InterceptorsOf } from "./service-table.ts";

type StreamImplementation = (message: Message, context: HandlerContext) => AsyncIterable<Message>;
type StreamFn = (request: StreamRequest) => Promise<StreamResponse>;

/** Whether an RPC takes one message and answers with a stream. */
export function isServerStreaming(rpc: DescMethod): rpc is DescMethod & DescMethodServerStreaming {
  return rpc.methodKind === "server_streaming";
}

/**
 * Makes server-streaming calls of the same implementation, through the same interceptors, as the RPC protocols. Thousands of
 * streams may wait at the same time, so a call keeps as few objects as possible.
 */
export function createStreamCall(
  rpc: DescMethod & DescMethodServerStreaming,
  implementation: Implementation,
  interceptors: InterceptorsOf,
): (message: Message, init: CallInit) => Promise<AsyncIterable<Message>> {
  const invoke = implementation[rpc.localName] as StreamImplementation | undefined;
  if (invoke === undefined) throw new Error(`${rpc.parent.typeName}.${rpc.name} has no implementation.`);
  const common = { stream: true as const, service: rpc.parent, method: rpc };

  return async (message, init) => {
    const context = new CallContext(rpc, init);
    const innermost: StreamFn = async (request) => ({
      ...common,
      // REST sends no headers and no trailers of a stream's call.
      header: new Headers(),
      trailer: new Headers(),
      message: invoke.call(implementation, await takeOne(request.message), context),
    });
    const chain = interceptors(rpc).reduceRight<StreamFn>(
      (next, interceptor) => interceptor(next as never) as StreamFn,
      innermost,
    );
    const response = await chain({
      ...common,
      requestMethod: init.method,
      url: init.url,
      signal: context.signal,
      header: init.headers(),
      contextValues: context.values,
      message: one(message),
    });
    return response.message;
  };
}

async function* one(message: Message): AsyncGenerator<Message> {
  yield message;
}

/** The one request message, after the interceptors. */
async function takeOne(messages: AsyncIterable<Message>): Promise<Message> {
  for await (const message of messages) return message;
  throw new Error("An interceptor has taken the request message away.");
}
