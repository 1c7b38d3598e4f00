// Spans of calls, by OpenTelemetry's semantic conventions 1.45 for RPC
// (https://opentelemetry.io/docs/specs/semconv/rpc/rpc-spans/) and HTTP
// (https://opentelemetry.io/docs/specs/semconv/http/http-spans/).
import type { Socket } from "node:net";
import { type Attributes, context, propagation, ROOT_CONTEXT, type Span, SpanKind, trace } from "@opentelemetry/api";
import { cleaned } from "./client-text.ts";
import { failSpan, tracer } from "./tracing.ts";

/** How a call has ended. */
export interface CallEnd {
  /** `ok`, or the code of the failure. */
  readonly outcome: string;
  /** `ok`, or the status code of gRPC as Connect spells it: `not_found`; undefined where it is not known. */
  readonly code: string | undefined;
  /** Whether the service is at fault. */
  readonly isFailure: boolean;
}

/** The span of a call that somebody else makes of this process. */
export interface CallSpan {
  /** As W3C Trace Context writes it: version, trace, span, flags. */
  readonly traceparent: string;
  readonly traceId: string;
  /** Runs `work` so that spans which it makes are within this one. */
  within<Result>(work: () => Result): Result;
  /** To be called when the call has ended. Further calls do nothing. */
  end(end: CallEnd): void;
}

/** What a span shows of the request that makes the call. */
interface TracedRequest {
  readonly request: {
    readonly method?: string | undefined;
    readonly headers: { readonly "content-type"?: string | undefined };
    readonly httpVersion: string;
    readonly socket: Socket | null | undefined;
  };
  readonly response: { readonly headersSent: boolean; readonly statusCode: number };
  /** `rpc` and `rest`: the request is the call. The others make calls of their own. */
  readonly route: { readonly template?: string | undefined; readonly limits?: string | undefined };
  /** The address that the client asked for. */
  readonly url: string;
  /** Calls `action` when the response is closed. */
  onEnd(action: () => void): void;
}

interface Described {
  name: string;
  kind: SpanKind;
  attributes: Attributes;
  /** Adds what is known when the call has ended, and ends the span then or later. */
  finish(span: Span, end: CallEnd): void;
}

/**
 * Begins the span of a call: within the caller's, if its headers have a valid `traceparent`
 * (https://www.w3.org/TR/trace-context/).
 * @param rpc the RPC that is called
 */
export function beginCall(
  rpc: { readonly parent: { readonly typeName: string }; readonly name: string },
  origin: TracedRequest,
): CallSpan {
  const method = `${rpc.parent.typeName}/${rpc.name}`;
  const caller = propagation.extract(ROOT_CONTEXT, origin.request.headers);
  const { name, kind, attributes, finish } = describe(method, origin);
  const all = { ...attributes, "rpc.method": method };
  const span = (tracer ?? trace.getTracer("stoa")).startSpan(name, { kind, attributes: all }, caller);
  const inside = trace.setSpan(caller, span);
  const { traceId, spanId, traceFlags } = span.spanContext();
  let isEnded = false;
  return {
    traceId,
    traceparent: `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`,
    within: (work) => context.with(inside, work),
    end(end) {
      if (isEnded) return;
      isEnded = true;
      span.setAttribute("stoa.outcome", end.outcome);
      if (end.isFailure) failSpan(span, end.outcome);
      finish(span, end);
    },
  };
}

function describe(method: string, origin: TracedRequest): Described {
  const { limits } = origin.route;
  if (limits === "rest") return ofHttp(origin);
  if (limits === "rpc") return ofRpc(method, origin);
  // A page or a message of MCP makes calls within the process.
  return { name: method, kind: SpanKind.INTERNAL, attributes: {}, finish: (span) => span.end() };
}

function ofRpc(method: string, { request }: TracedRequest): Described {
  const isGrpc = /^application\/grpc/i.test(request.headers["content-type"] ?? "");
  const attributes = { "rpc.system.name": isGrpc ? "grpc" : "connectrpc", ...networkOf(request) };
  const finish = (span: Span, { code, isFailure }: CallEnd) => {
    // Connect has no code of success.
    const status = code !== undefined && isGrpc ? grpcName(code) : code === "ok" ? undefined : code;
    if (status !== undefined) span.setAttribute("rpc.status_code", status);
    if (isFailure && status !== undefined) span.setAttribute("error.type", status);
    span.end();
  };
  return { name: method, kind: SpanKind.SERVER, attributes, finish };
}

function ofHttp(origin: TracedRequest): Described {
  const { request, response, url } = origin;
  const { template } = origin.route;
  const { method = "_OTHER", socket } = request;
  const attributes: Attributes = {
    "http.request.method": method,
    "url.path": cleaned(url.split("?", 1)[0] as string),
    "url.scheme": (socket as { encrypted?: boolean } | undefined | null)?.encrypted === true ? "https" : "http",
    ...networkOf(request),
  };
  if (template !== undefined) attributes["http.route"] = template;
  let isClosed = false;
  let ended: (() => void) | undefined;
  origin.onEnd(() => {
    isClosed = true;
    ended?.();
  });
  const finish = (span: Span) => {
    ended = () => {
      const { headersSent, statusCode } = response;
      if (headersSent) span.setAttribute("http.response.status_code", statusCode);
      if (headersSent && statusCode >= 500) span.setAttribute("error.type", String(statusCode));
      span.end();
    };
    // The response shows the outcome of the call, so it is sent later, unless the client has left.
    if (isClosed) ended();
  };
  return {
    name: template === undefined ? method : `${method} ${template}`,
    kind: SpanKind.SERVER,
    attributes,
    finish,
  };
}

function networkOf({ httpVersion }: TracedRequest["request"]): Attributes {
  return { "network.protocol.name": "http", "network.protocol.version": httpVersion === "2.0" ? "2" : httpVersion };
}

/** The names that gRPC gives its status codes: https://github.com/grpc/grpc/blob/master/doc/statuscodes.md. */
export function grpcName(code: string): string {
  return code === "canceled" ? "CANCELLED" : code.toUpperCase();
}
