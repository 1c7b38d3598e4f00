import type { Interceptor } from "@connectrpc/connect";
import type { CallInit } from "../../calls/call-context.ts";
import type { Implementation } from "../../calls/service-table.ts";
import { createStreamCall, isServerStreaming } from "../../calls/stream-call.ts";
import type { Binding } from "../../contract/bindings.ts";
import { responseOf } from "../../contract/responses.ts";
import type { ReadRequest } from "../../transcoding/index.ts";
import type { RequestContext } from "../requests/context.ts";
import { asEvents, asLines, sendStream } from "./stream.ts";

/** How a stream is sent. */
export interface StreamOptions {
  context: RequestContext;
  /** As server-sent events; otherwise as newline-delimited JSON. */
  asEvents: boolean;
  /** Header fields besides those that all replies have. */
  fields: Readonly<Record<string, string>> | undefined;
}

/** Makes the streaming call of a binding and sends its reply. Resolves when the head is sent. */
export type ServeStream = (read: ReadRequest, init: CallInit, options: StreamOptions) => Promise<void>;

export interface SendingOptions {
  /** The header fields that every reply has. */
  commonFields: (context: RequestContext) => Record<string, string>;
  /** See `sendStream`. */
  heartbeatMs: number | undefined;
}

/** @throws Error for an RPC without an implementation or one that REST cannot serve; the service then does not start */
export function createServeStream(
  binding: Binding,
  implementation: Implementation,
  interceptors: readonly Interceptor[],
  { commonFields, heartbeatMs }: SendingOptions,
): ServeStream {
  const { rpc } = binding;
  if (!isServerStreaming(rpc)) throw new Error(`${rpc.parent.typeName}.${rpc.name} is not a stream of responses.`);
  const call = createStreamCall(rpc, implementation, interceptors);
  const { desc, select } = responseOf(binding);
  const lines = asLines(desc, select);
  const events = asEvents(desc, select);
  return async ({ message }, init, options) => {
    const messages = await call(message, init);
    const { context } = options;
    const fields = { ...commonFields(context), ...options.fields };
    await sendStream(context, { format: options.asEvents ? events : lines, fields, heartbeatMs }, messages);
  };
}
