import { disableTracing, enableTracing } from "../tracing/tracing.ts";
import type { Startup } from "./startup.ts";

/**
 * Sends spans to the configured collector, if there is one; only then the SDK is loaded. The SDK queues at most 2,048
 * spans and drops further ones. It reads the other variables of OpenTelemetry itself, such as OTEL_TRACES_SAMPLER and
 * OTEL_EXPORTER_OTLP_HEADERS.
 */
export async function startTracing({ config, log, shutdown }: Startup): Promise<void> {
  if (config.tracesUrl === undefined) return;
  const [api, { OTLPTraceExporter }, { defaultResource, resourceFromAttributes }, sdk] = await Promise.all([
    import("@opentelemetry/api"),
    import("@opentelemetry/exporter-trace-otlp-http"),
    import("@opentelemetry/resources"),
    import("@opentelemetry/sdk-trace-node"),
  ]);
  const { context, DiagLogLevel, diag, propagation, trace } = api;
  const toLog = (message: string) => log.warn({ tracing: message.slice(0, 500) }, "spans may be lost");
  const ignore = () => {};
  diag.setLogger({ error: toLog, warn: toLog, info: ignore, debug: ignore, verbose: ignore }, DiagLogLevel.WARN);
  const named = resourceFromAttributes(config.traceResource);
  const provider = new sdk.NodeTracerProvider({
    resource: defaultResource().merge(named),
    spanProcessors: [new sdk.BatchSpanProcessor(new OTLPTraceExporter({ url: config.tracesUrl }))],
  });
  provider.register();
  enableTracing();
  shutdown.push(async () => {
    disableTracing();
    // If the collector does not answer, the stop does not fail.
    await provider.shutdown().catch((error: Error) => toLog(error.message));
    for (const each of [trace, context, propagation, diag]) each.disable();
  }, "the sending of spans");
}
