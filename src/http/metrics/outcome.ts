// What became of each request, by the stable error codes: known where a failure is mapped, read when the reply is out.
import { Code, ConnectError, createContextKey, type Interceptor } from "@connectrpc/connect";
import type { FastifyRequest } from "fastify";
import { toStoaError } from "../../calls/error-mapping.ts";
import type { ErrorCode } from "../../errors.ts";

/** `canceled`: the caller gave up. `refused`: Connect refused what it could not read, before there was a call. */
export type Outcome = "ok" | ErrorCode | "canceled" | "refused";

/** Under this key an RPC's context holds the request that it came with. */
export const requestKey = createContextKey<FastifyRequest | undefined>(undefined, { description: "the request" });

const outcomes = new WeakMap<FastifyRequest, Outcome>();

/** Notes what became of a request; the last word counts. Without a request (a call of our own) there is nothing to note. */
export function recordOutcome(request: FastifyRequest | undefined, outcome: Outcome): void {
  if (request !== undefined) outcomes.set(request, outcome);
}

/** What was recorded of a request, if anything was. */
export function outcomeOf(request: FastifyRequest): Outcome | undefined {
  return outcomes.get(request);
}

/** Notes the outcome that an error stands for. */
export function recordFailure(request: FastifyRequest | undefined, error: unknown): void {
  const canceled = error instanceof ConnectError && error.code === Code.Canceled;
  recordOutcome(request, canceled ? "canceled" : toStoaError(error).code);
}

/** Records how RPCs end; the outermost of their interceptors. */
export const recordOutcomes: Interceptor = (next) => async (call) => {
  const request = call.contextValues.get(requestKey);
  try {
    const response = await next(call);
    if (response.stream) return { ...response, message: recordEnd(response.message, request) };
    recordOutcome(request, "ok");
    return response;
  } catch (error) {
    recordFailure(request, error);
    throw error;
  }
};

async function* recordEnd<T>(messages: AsyncIterable<T>, request: FastifyRequest | undefined): AsyncGenerator<T> {
  // It stands where the consumer leaves in the midst of the stream.
  recordOutcome(request, "canceled");
  try {
    yield* messages;
    recordOutcome(request, "ok");
  } catch (error) {
    recordFailure(request, error);
    throw error;
  }
}
