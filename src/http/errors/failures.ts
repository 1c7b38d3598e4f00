import { Code, ConnectError } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";
import { errorHeaders, toErrorBody, toStoaError } from "../../calls/error-mapping.ts";
import { badInput, errorStatus, StoaError } from "../../errors.ts";
import { requestIdOf } from "../requests/request-id.ts";
import type { ErrorPages } from "./error-pages.ts";
import { fromFastifyError, sendError } from "./reply-error.ts";

/** Answers a request that has failed, in the Error shape or with a page; what nobody expected is logged, and not told. */
export function answerFailure(
  error: unknown,
  request: FastifyRequest,
  reply: FastifyReply,
  pages: ErrorPages | undefined,
): FastifyReply {
  // A client that goes away while its key is looked up is no fault of ours.
  const isGivenUp = error instanceof ConnectError && error.code === Code.Canceled;
  const known = error instanceof StoaError ? error : isGivenUp ? toStoaError(error) : fromFastifyError(error);
  if (known === undefined) request.log.error({ err: error }, "a request failed");
  const answer =
    known ?? new StoaError("internal", "Something went wrong here; it has been logged under the request id.");
  // Node reads and drops what is left of a body; to close at once would reset the connection and lose the reply.
  if (answer.code === "too_large") reply.removeHeader("connection");
  if (pages?.answersWithPage(request)) return pages.sendError(request, reply, answer);
  return sendError(reply, answer, errorStatus[answer.code]);
}

/** What Node's HTTP parser refuses never becomes a request; it is answered in the Error shape all the same. */
export function refuseUnparsable(_error: Error, status: number, headers: Record<string, string>) {
  const message =
    status === 431 ? "The request headers are too large." : "The request is malformed or did not arrive in time.";
  const error = status === 413 ? new StoaError("too_large", message) : badInput(undefined, message);
  return { status, body: toErrorBody(error), headers: { ...headers, "X-Request-Id": requestIdOf({ headers: {} }) } };
}

/** What a client gets that has opened too many connections, or comes when there is no room for another. */
export function refuseConnection() {
  const message = "There are too many connections, of this address or in all; close some, or try again.";
  const error = new StoaError("rate_limited", message, { retryAfterSeconds: 1 });
  const headers = { ...errorHeaders(error), "X-Request-Id": requestIdOf({ headers: {} }) };
  return { status: errorStatus.rate_limited, body: toErrorBody(error), headers };
}
