import { Code, ConnectError } from "@connectrpc/connect";
import { type ErrorCode, StoaError } from "../errors.ts";
import { grpcName } from "../tracing/call-span.ts";
import type { Outcome } from "./call.ts";
import { detailsOf } from "./error-details.ts";

/*
 * The one place where failures become what callers see. RPC callers get a Connect error whose details have the stable
 * code. REST callers get the Error shape.
 */

const codes: Record<ErrorCode, Code> = {
  bad_input: Code.InvalidArgument,
  bad_json: Code.InvalidArgument,
  unauthorized: Code.Unauthenticated,
  own_content: Code.PermissionDenied,
  forbidden: Code.PermissionDenied,
  not_found: Code.NotFound,
  name_taken: Code.AlreadyExists,
  exists: Code.AlreadyExists,
  too_large: Code.ResourceExhausted,
  rate_limited: Code.ResourceExhausted,
  internal: Code.Internal,
  unavailable: Code.Unavailable,
};

/** Any failure as an error of the RPC protocols. An unknown failure becomes a bare `internal`, so that nothing leaks. */
export function toConnectError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  const known = toStoaError(error);
  return new ConnectError(known.message, codes[known.code], errorHeaders(known), detailsOf(known), error);
}

/**
 * A failure of the protocol itself, such as a request that cannot be read, with our code and words in its details.
 * @param status by default that of our code
 */
export function withDetail(error: ConnectError, known: StoaError, status = codes[known.code]): ConnectError {
  return new ConnectError(known.message, status, error.metadata, detailsOf(known), known);
}

/** Any failure as a StoaError, also if `toConnectError` has mapped it before. */
export function toStoaError(error: unknown): StoaError {
  if (error instanceof StoaError) return error;
  if (error instanceof ConnectError) {
    if (error.cause instanceof StoaError) return error.cause;
    if (error.code === Code.Canceled || error.code === Code.DeadlineExceeded) {
      return new StoaError("unavailable", "The call was given up.", { retryAfterSeconds: 1, cause: error });
    }
  }
  return new StoaError("internal", "Something went wrong here; it has been logged under the request id.", {
    cause: error,
  });
}

/**
 * A `bad_input` failure that also tells what the input held without any effect: a required input may be missing because it is
 * misplaced. Other failures stay as they are.
 */
export function withWarnings(error: StoaError, warnings: readonly string[]): StoaError {
  if (error.code !== "bad_input" || warnings.length === 0) return error;
  const { message, field, cause } = error;
  return new StoaError("bad_input", [message, ...warnings].join(" "), { field, cause });
}

/** The codes with which Connect refuses a request that it cannot read. Our own refusals have a StoaError as their cause. */
const unreadable: ReadonlySet<Code> = new Set([Code.InvalidArgument, Code.ResourceExhausted, Code.Unimplemented]);

/** The outcome that a failure stands for. */
export function outcomeOf(error: unknown): Outcome {
  if (!(error instanceof ConnectError)) return toStoaError(error).code;
  if (error.code === Code.Canceled) return "canceled";
  return !(error.cause instanceof StoaError) && unreadable.has(error.code) ? "refused" : toStoaError(error).code;
}

/**
 * The status code of an outcome, as gRPC or Connect spells it (https://connectrpc.com/docs/protocol/#error-codes); undefined
 * where it is not known, and for a success over Connect, which has no code.
 */
export function statusNameOf(outcome: Outcome, isGrpc: boolean): string | undefined {
  if (outcome === "refused") return undefined;
  if (outcome === "ok") return isGrpc ? grpcName("ok") : undefined;
  const name = codeName(outcome === "canceled" ? Code.Canceled : codes[outcome]);
  return isGrpc ? grpcName(name) : name;
}

/** A status code as Connect spells it. */
export function codeName(code: Code): string {
  return (Code[code] as string).replace(/(?<=[a-z])[A-Z]/g, "_$&").toLowerCase();
}

/** An error in the Error shape; absent members are left out. */
export function toErrorBody({ code, message, field, retryAfterSeconds }: StoaError): string {
  return JSON.stringify({ ok: false, error: code, message, field, retry_after_seconds: retryAfterSeconds });
}

/** The headers of a failure. */
export function errorHeaders(error: StoaError): Record<string, string> {
  return {
    ...(error.code === "unauthorized" ? { "www-authenticate": error.challenge ?? "Bearer" } : {}),
    ...(error.retryAfterSeconds === undefined ? {} : { "retry-after": String(error.retryAfterSeconds) }),
    ...(error.methods === undefined ? {} : { allow: error.methods.join(", ") }),
  };
}
