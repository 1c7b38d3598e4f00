import type { Interceptor } from "@connectrpc/connect";
import { type ErrorCode, errorStatus } from "../errors.ts";
import type { CallSpan } from "../tracing/tracing.ts";
import { callOf } from "./call.ts";
import { outcomeOf } from "./error-mapping.ts";

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
  try {
    yield* messages;
    span.end("ok", false);
  } catch (error) {
    endFailed(span, error);
    throw error;
  } finally {
    // The consumer has left, if nothing else has ended it.
    span.end("canceled", false);
  }
}

function endFailed(span: CallSpan, error: unknown): void {
  const outcome = outcomeOf(error);
  span.end(outcome, outcome in errorStatus && errorStatus[outcome as ErrorCode] >= 500);
}
