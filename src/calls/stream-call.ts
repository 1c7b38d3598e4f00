import type { DescMethod, DescMethodServerStreaming, Message } from "@bufbuild/protobuf";
import {
  createHandlerContext,
  type HandlerContext,
  type Interceptor,
  type StreamRequest,
  type StreamResponse,
} from "@connectrpc/connect";
import { contextValuesOf } from "./context.ts";
import type { Implementation } from "./service-table.ts";
import type { CallInit } from "./unary-call.ts";

type StreamImplementation = (message: Message, context: HandlerContext) => AsyncIterable<Message>;
type StreamFn = (request: StreamRequest) => Promise<StreamResponse>;

/** Whether an RPC takes one message and answers with a stream. */
export function isServerStreaming(rpc: DescMethod): rpc is DescMethod & DescMethodServerStreaming {
  return rpc.methodKind === "server_streaming";
}

/** Makes server-streaming calls of the same implementation, through the same interceptors, as the RPC protocols. */
export function createStreamCall(
  rpc: DescMethod & DescMethodServerStreaming,
  implementation: Implementation,
  interceptors: readonly Interceptor[],
): (message: Message, init: CallInit) => Promise<AsyncIterable<Message>> {
  const invoke = implementation[rpc.localName] as StreamImplementation | undefined;
  if (invoke === undefined) throw new Error(`${rpc.parent.typeName}.${rpc.name} has no implementation.`);

  return async (message, init) => {
    const context = createHandlerContext({
      service: rpc.parent,
      method: rpc,
      protocolName: "rest",
      requestMethod: init.method,
      url: init.url,
      requestHeader: init.headers(),
      requestSignal: init.request.signal,
      contextValues: contextValuesOf(init.request),
    });
    const common = { stream: true as const, service: rpc.parent, method: rpc };
    const innermost: StreamFn = async (request) => ({
      ...common,
      header: context.responseHeader,
      trailer: context.responseTrailer,
      message: pass(request.message, (only) => invoke.call(implementation, only, context)),
    });
    const chain = interceptors.reduceRight<StreamFn>(
      (next, interceptor) => interceptor(next as never) as StreamFn,
      innermost,
    );
    const response = await chain({
      ...common,
      requestMethod: init.method,
      url: init.url,
      signal: context.signal,
      header: context.requestHeader,
      contextValues: context.values,
      message: one(message),
    });
    return response.message;
  };
}

async function* one(message: Message): AsyncGenerator<Message> {
  yield message;
}

/** Passes the one request message to the implementation, after the interceptors. */
async function* pass(
  requests: AsyncIterable<Message>,
  invoke: (message: Message) => AsyncIterable<Message>,
): AsyncGenerator<Message> {
  for await (const message of requests) yield* invoke(message);
}
