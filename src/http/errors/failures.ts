import { Code, ConnectError } from "@connectrpc/connect";
import { errorHeaders, toErrorBody, toStoaError } from "../../calls/error-mapping.ts";
import { badInput, errorStatus, StoaError } from "../../errors.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";
import { outcomeOf } from "../requests/outcome.ts";
import { requestIdOf } from "../requests/request-id.ts";

/** The failure that a client is told of. It is recorded. An unknown failure is logged, and its cause is not shown. */
export function toldFailure(error: unknown, context: RequestContext): StoaError {
  // The call has recorded its failure, before it was mapped.
  context.notes.outcome ??= outcomeOf(error);
  // A client disconnect during the look-up of its key is not an error.
  const isCanceled = error instanceof ConnectError && error.code === Code.Canceled;
  if (error instanceof StoaError || isCanceled) return toStoaError(error);
  context.log.error({ err: error }, "a request failed");
  return new StoaError("internal", "Something went wrong here; it has been logged under the request id.");
}

/** A failure in the Error shape. @param fields further header fields */
export function errorReply(error: StoaError, fields: Readonly<Record<string, string>> = {}): HttpReply {
  const type = { "content-type": "application/json; charset=utf-8" };
  return {
    status: errorStatus[error.code],
    fields: { ...fields, ...errorHeaders(error), ...type },
    body: toErrorBody(error),
  };
}

/** The answer to what Node's HTTP parser refuses. It never becomes a request, but its answer has the Error shape, too. */
export function refuseUnparsable(status: number, headers: Record<string, string>) {
  const message =
    status === 431 ? "The request headers are too large." : "The request is malformed or did not arrive in time.";
  const error = status === 413 ? new StoaError("too_large", message) : badInput(undefined, message);
  const id = requestIdOf({ headers: {} });
  return { id, code: error.code, status, body: toErrorBody(error), headers: { ...headers, "X-Request-Id": id } };
}

/** The answer to a client that has too many connections open, or that connects when there is no room for another. */
export function refuseConnection() {
  const message = "There are too many connections, from this address or in total; close some, or try again.";
  return connectionReply(new StoaError("rate_limited", message, { retryAfterSeconds: 1 }));
}

function connectionReply(error: StoaError) {
  const headers = { ...errorHeaders(error), "X-Request-Id": requestIdOf({ headers: {} }) };
  return { status: errorStatus[error.code], body: toErrorBody(error), headers };
}
