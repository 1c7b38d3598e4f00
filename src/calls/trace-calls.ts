import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { type ErrorCode, errorStatus } from "../errors.ts";
import type { CallEnd, CallSpan } from "../tracing/call-span.ts";
import { callOf } from "./call.ts";
import { codeName, outcomeOf } from "./error-mapping.ts";

const succeeded: CallEnd = { outcome: "ok", isFailure: false, code: "ok" };
const canceled: CallEnd = { outcome: "canceled", isFailure: false, code: codeName(Code.Canceled) };

/** Makes each call within its span, and ends the span. */
export const traceCalls: Interceptor = (next) => async (call) => {
  const { span } = callOf(call.contextValues);
  if (span === undefined) return next(call);
  try {
    const response = await span.within(() => next(call));
    if (response.stream) return { ...response, message: traceEnd(response.message, span) };
    span.end(succeeded);
    return response;
  } catch (error) {
    endFailed(span, error);
    throw error;
  }
};

async function* traceEnd<T>(messages: AsyncIterable<T>, span: CallSpan): AsyncGenerator<T> {
  try {
    yield* messages;
    span.end(succeeded);
  } catch (error) {
    endFailed(span, error);
    throw error;
  } finally {
    // The consumer has left, if nothing else has ended it.
    span.end(canceled);
  }
}

function endFailed(span: CallSpan, error: unknown): void {
  const outcome = outcomeOf(error);
  const isFailure = outcome in errorStatus && errorStatus[outcome as ErrorCode] >= 500;
  span.end({ outcome, isFailure, code: codeName(error instanceof ConnectError ? error.code : Code.Internal) });
}
