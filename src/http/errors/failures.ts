import { Code, ConnectError } from "@connectrpc/connect";
import { errorHeaders, outcomeOf, toErrorBody, toStoaError } from "../../calls/error-mapping.ts";
import { badInput, errorStatus, StoaError } from "../../errors.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";

/** The failure that a client is told of. It is recorded. An unknown failure is logged, and its cause is not shown. */
export function toldFailure(error: unknown, context: RequestContext): StoaError {
  // The call has recorded its failure, before it was mapped.
  context.notes.outcome ??= outcomeOf(error);
  // A client disconnect during the look-up of its key is not an error.
  const isCanceled = error instanceof ConnectError && error.code === Code.Canceled;
  if (!(error instanceof StoaError || isCanceled)) context.log.error({ err: error }, "a request failed");
  return toStoaError(error);
}

/** A failure in the Error shape, which no cache may keep: what is missing may appear. @param fields further header fields */
export function errorReply(error: StoaError, fields: Readonly<Record<string, string>> = {}): HttpReply {
  const type = { "content-type": "application/json; charset=utf-8" };
  return {
    status: errorStatus[error.code],
    fields: { "cache-control": "no-store", ...fields, ...errorHeaders(error), ...type },
    body: toErrorBody(error),
  };
}

/**
 * Why a connection is refused before it has a request.
 * @param status 429 for a connection over the limit; otherwise the status for what Node's HTTP parser refuses
 */
export function connectionFailure(status: number): StoaError {
  if (status === 429) {
    const message = "There are too many connections, from this address or in total; close some, or try again.";
    return new StoaError("rate_limited", message, { retryAfterSeconds: 1 });
  }
  if (status === 413) return new StoaError("too_large", "The chunk extensions of the request body are too large.");
  const message =
    status === 431 ? "The request headers are too large." : "The request is malformed or did not arrive in time.";
  return badInput(undefined, message);
}
