import { Code, ConnectError, type Interceptor } from "@connectrpc/connect";
import { type RequestContext, requestOf } from "./context.ts";
import { toStoaError } from "./error-mapping.ts";

/** Records the outcome that an error stands for. */
export function recordFailure(request: RequestContext, error: unknown): void {
  const isCanceled = error instanceof ConnectError && error.code === Code.Canceled;
  request.outcome = isCanceled ? "canceled" : toStoaError(error).code;
}

/** Records how RPCs end; the outermost of their interceptors. */
export const recordOutcomes: Interceptor = (next) => async (call) => {
  const request = requestOf(call.contextValues);
  try {
    const response = await next(call);
    if (response.stream) return { ...response, message: recordEnd(response.message, request) };
    request.outcome = "ok";
    return response;
  } catch (error) {
    recordFailure(request, error);
    throw error;
  }
};

async function* recordEnd<T>(messages: AsyncIterable<T>, request: RequestContext): AsyncGenerator<T> {
  // This outcome stays if the consumer leaves before the stream ends.
  request.outcome = "canceled";
  try {
    yield* messages;
    request.outcome = "ok";
  } catch (error) {
    recordFailure(request, error);
    throw error;
  }
}
