import type { FastifyReply } from "fastify";
import { errorHeaders, toErrorBody } from "../../calls/error-mapping.ts";
import { badInput, StoaError } from "../../errors.ts";

/** Sends a failure in the Error shape. */
export function sendError(reply: FastifyReply, error: StoaError, status: number): FastifyReply {
  reply.request.context.outcome = error.code;
  return reply
    .code(status)
    .headers(errorHeaders(error))
    .header("content-type", "application/json; charset=utf-8")
    .send(toErrorBody(error));
}

/** The StoaError for a failure that Fastify itself reports; undefined for an unknown failure. */
export function fromFastifyError(error: unknown): StoaError | undefined {
  const { code, statusCode } = error as { code?: string; statusCode?: number };
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE")
    return new StoaError("too_large", "The request body is larger than 256 KiB.");
  if (code === "FST_CP_ERR_INVALID_CONTENT" || code === "FST_CP_ERR_INVALID_CONTENT_ENCODING") {
    return badInput(undefined, "The Content-Encoding of the body is unknown, or the body does not have this encoding.");
  }
  if (code === "FST_ERR_BAD_URL") return badInput(undefined, "The percent-encoding of the path is broken.");
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return badInput(undefined, "The request is malformed.");
  }
  return undefined;
}
