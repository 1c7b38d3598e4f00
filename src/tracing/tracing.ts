import {
  type Context,
  context,
  propagation,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from "@opentelemetry/api";

/** Set while a tracer provider is registered. Without one, tracing costs a comparison for each span. */
export let tracer: Tracer | undefined;

/** Uses the registered tracer provider from now on. Chains of calls that exist already are not traced. */
export function enableTracing(): void {
  tracer = trace.getTracer("stoa");
}

/** Makes no more spans. */
export function disableTracing(): void {
  tracer = undefined;
}

/** Runs `work` in a span within the current one. An error marks the span as failed, and is thrown on. */
export function traced<Result>(name: string, work: () => Promise<Result>): Promise<Result> {
  if (tracer === undefined) return work();
  return tracer.startActiveSpan(name, async (span) => {
    try {
      return await work();
    } catch (error) {
      failSpan(span, error instanceof Error ? error.name : "error");
      throw error;
    } finally {
      span.end();
    }
  });
}

/** The span of a call that somebody else makes of this process. */
export interface CallSpan {
  /** As W3C Trace Context writes it: version, trace, span, flags. */
  readonly traceparent: string;
  readonly traceId: string;
  /** Runs `work` so that spans which it makes are within this one. */
  within<Result>(work: () => Result): Result;
  /**
   * Ends the span. Further calls do nothing.
   * @param outcome `ok`, or the code of the failure
   * @param isFailure whether the service is at fault
   */
  end(outcome: string, isFailure: boolean): void;
}

/**
 * Begins the span of a call: within the caller's, if its headers have a valid `traceparent`
 * (https://www.w3.org/TR/trace-context/).
 * @param rpc the RPC that is called
 */
export function beginCall(
  { parent, name }: { readonly parent: { readonly typeName: string }; readonly name: string },
  headers: object,
): CallSpan | undefined {
  if (tracer === undefined) return undefined;
  const caller = propagation.extract(ROOT_CONTEXT, headers);
  const attributes = { "rpc.service": parent.typeName, "rpc.method": name };
  const span = tracer.startSpan(`${parent.typeName}/${name}`, { kind: SpanKind.SERVER, attributes }, caller);
  return toCallSpan(span, trace.setSpan(caller, span));
}

function toCallSpan(span: Span, inside: Context): CallSpan {
  const { traceId, spanId, traceFlags } = span.spanContext();
  let isEnded = false;
  return {
    traceId,
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    within: (work) => context.with(inside, work),
    end(outcome, isFailure) {
      if (isEnded) return;
      isEnded = true;
      span.setAttribute("stoa.outcome", outcome);
      if (isFailure) failSpan(span, outcome);
      span.end();
    },
  };
}

function failSpan(span: Span, message: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
