import { Code, ConnectError } from "@connectrpc/connect";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { printable, StoaError, type StoaErrorCode, saidBy, unreachable } from "./error.ts";

/** Converts any error of a transport into a StoaError. */
export function fromTransport(error: unknown): StoaError {
  if (error instanceof StoaError) return error;
  if (!(error instanceof ConnectError)) return unreachable(error);
  // Our own fetch has thrown it.
  if (error.cause instanceof StoaError) return error.cause;
  // fetch reports a connection that is lost in the midst of a stream as a TypeError.
  if (error.cause instanceof TypeError) return unreachable(error.cause);
  const [detail] = error.findDetails(ErrorDetailSchema);
  // If the service does not have the call, that says nothing about the thing that the call names.
  if (detail !== undefined && error.code !== Code.Unimplemented) {
    const { retryAfterSeconds, field } = detail;
    return saidBy({
      error: detail.error,
      message: error.rawMessage,
      field,
      retryAfterSeconds: retryAfterSeconds === undefined ? undefined : Number(retryAfterSeconds),
    });
  }
  return withoutDetail(error);
}

const codes: { readonly [code in Code]?: StoaErrorCode } = {
  [Code.Unavailable]: "unavailable",
  [Code.Aborted]: "unreachable",
  [Code.Canceled]: "unreachable",
  [Code.Unauthenticated]: "unauthorized",
  [Code.InvalidArgument]: "bad_input",
  [Code.ResourceExhausted]: "too_large",
};

/** An error of Connect itself, on either side, or the status of a proxy as Connect interprets it. */
function withoutDetail(cause: ConnectError): StoaError {
  if (cause.code === Code.DeadlineExceeded) return new StoaError("silent", "no reply came in time", { cause });
  return new StoaError(codes[cause.code] ?? "unusable", printable(cause.message), { cause });
}
