import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { errorStatus } from "../errors.ts";
import { beginCall, type CallSpan, isTracing } from "../tracing/tracing.ts";
import { requestOf } from "./context.ts";
import { toStoaError } from "./error-mapping.ts";

/** The header of a response that names the span of its call (W3C Trace Context, Level 2). */
const responseHeader = "traceresponse";

/** Makes a span of each call, in the caller's trace if it names one. It costs nothing while tracing is off. */
export const traceCalls: Interceptor = (next) => {
  if (!isTracing()) return next;
  return async (call) => {
    const request = requestOf(call.contextValues);
    const { service, method } = call;
    const span = beginCall({ service: service.typeName, method: method.name }, request.request.headers);
    if (span === undefined) return next(call);
    request.traceId = span.traceId;
    if (!request.response.headersSent) request.response.setHeader(responseHeader, span.traceparent);
    try {
      const response = await span.within(() => next(call));
      if (response.stream) return { ...response, message: traceEnd(response.message, span) };
      span.end("ok", false);
      return response;
    } catch (error) {
      endFailed(span, error);
      throw error;
    }
  };
};

async function* traceEnd<T>(messages: AsyncIterable<T>, span: CallSpan): AsyncGenerator<T> {
  let isEnded = false;
  try {
    yield* messages;
    isEnded = true;
    span.end("ok", false);
  } catch (error) {
    isEnded = true;
    endFailed(span, error);
    throw error;
  } finally {
    // The consumer has left.
    if (!isEnded) span.end("canceled", false);
  }
}

function endFailed(span: CallSpan, error: unknown): void {
  if (error instanceof ConnectError && error.code === Code.Canceled) span.end("canceled", false);
  else {
    const { code } = toStoaError(error);
    span.end(code, errorStatus[code] >= 500);
  }
}
