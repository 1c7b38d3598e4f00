import { type ContextValues, createContextKey, type Interceptor } from "@connectrpc/connect";
import { contextValuesOf } from "../../calls/call.ts";
import { outcomeOf } from "../../calls/error-mapping.ts";
import type { HandedOver } from "../edge/route.ts";
import type { RequestContext } from "../requests/context.ts";

const requestKey = createContextKey<RequestContext | undefined>(undefined, { description: "the request of a stream" });

/** The context values of a stream that Connect serves. */
export function valuesOf({ call, context }: HandedOver): ContextValues {
  return contextValuesOf(call).set(requestKey, context);
}

/** The request of a stream that Connect serves. @throws Error for other values */
export function requestOf(values: ContextValues): RequestContext {
  const context = values.get(requestKey);
  if (context === undefined) throw new Error("These values belong to no stream.");
  return context;
}

/** Notes how a stream ends; the outermost of its interceptors. */
export const noteEnds: Interceptor = (next) => async (call) => {
  const { notes } = requestOf(call.contextValues);
  try {
    const response = await next(call);
    if (!response.stream) throw new Error("Unary calls are not served here.");
    return { ...response, message: noteEnd(response.message, notes) };
  } catch (error) {
    notes.outcome = outcomeOf(error);
    throw error;
  }
};

async function* noteEnd<T>(messages: AsyncIterable<T>, notes: RequestContext["notes"]): AsyncGenerator<T> {
  // This outcome stays if the consumer leaves before the stream ends.
  notes.outcome = "canceled";
  try {
    yield* messages;
    notes.outcome = "ok";
  } catch (error) {
    notes.outcome = outcomeOf(error);
    throw error;
  }
}
