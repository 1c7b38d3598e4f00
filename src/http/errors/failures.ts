import { Code, ConnectError } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { RequestContext } from "../../calls/context.ts";
import { errorHeaders, toErrorBody, toStoaError } from "../../calls/error-mapping.ts";
import { badInput, errorStatus, StoaError } from "../../errors.ts";
import { requestIdOf } from "../requests/request-id.ts";
import type { ErrorPages } from "./error-pages.ts";
import { fromFastifyError, sendError } from "./reply-error.ts";

/** The failure that a client is told of. An unknown failure is logged, and its cause is not shown. */
export function toldFailure(error: unknown, context: Pick<RequestContext, "log">): StoaError {
  // A client disconnect during the look-up of its key is not an error.
  const isCanceled = error instanceof ConnectError && error.code === Code.Canceled;
  const known = error instanceof StoaError ? error : isCanceled ? toStoaError(error) : fromFastifyError(error);
  if (known !== undefined) return known;
  context.log.error({ err: error }, "a request failed");
  return new StoaError("internal", "Something went wrong here; it has been logged under the request id.");
}

/** Answers a failed request in the Error shape or with a page. */
export function answerFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  pages: ErrorPages | undefined,
): FastifyReply {
  const answer = toldFailure(error, request.context);
  // Node reads and drops the rest of the body. Closing at once would reset the connection, and the reply would be lost.
  if (answer.code === "too_large") reply.removeHeader("connection");
  if (pages?.answersWithPage(request)) return pages.sendError(request, reply, answer);
  return sendError(reply, answer, errorStatus[answer.code]);
}

/** The answer to what Node's HTTP parser refuses. It never becomes a request, but its answer has the Error shape, too. */
export function refuseUnparsable(_error: Error, status: number, headers: Record<string, string>) {
  const message =
    status === 431 ? "The request headers are too large." : "The request is malformed or did not arrive in time.";
  const error = status === 413 ? new StoaError("too_large", message) : badInput(undefined, message);
  return { status, body: toErrorBody(error), headers: { ...headers, "X-Request-Id": requestIdOf({ headers: {} }) } };
}

/** The answer to a client that has too many connections open, or that connects when there is no room for another. */
export function refuseConnection() {
  const message = "There are too many connections, from this address or in total; close some, or try again.";
  return connectionReply(new StoaError("rate_limited", message, { retryAfterSeconds: 1 }));
}

/** Makes the reply to a connection that no worker takes. */
export function refuseUnserved() {
  return connectionReply(new StoaError("unavailable", "The service is starting.", { retryAfterSeconds: 1 }));
}

function connectionReply(error: StoaError) {
  const headers = { ...errorHeaders(error), "X-Request-Id": requestIdOf({ headers: {} }) };
  return { status: errorStatus[error.code], body: toErrorBody(error), headers };
}
