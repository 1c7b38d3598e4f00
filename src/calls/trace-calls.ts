import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { errorStatus } from "../errors.ts";
import type { CallSpan } from "../tracing/tracing.ts";
import { callOf } from "./call.ts";
import { toStoaError } from "./error-mapping.ts";

/** Makes each call within its span, and ends the span. */
export const traceCalls: Interceptor = (next) => async (call) => {
  const { span } = callOf(call.contextValues);
  if (span === undefined) return next(call);
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
