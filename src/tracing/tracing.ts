import { type Span, SpanStatusCode, type Tracer, trace } from "@opentelemetry/api";

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

/** Marks a span as failed: the service is at fault. */
export function failSpan(span: Span, message: string): void {
  span.setStatus({ code: SpanStatusCode.ERROR, message });
}
