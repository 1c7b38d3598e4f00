import type { FastifyReply } from "fastify";
import { bodyTooLarge } from "../../calls/decompression.ts";
import { errorHeaders, toErrorBody } from "../../calls/error-mapping.ts";
import { badInput, type StoaError } from "../../errors.ts";

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
  if (code === "FST_ERR_CTP_BODY_TOO_LARGE") return bodyTooLarge();
  if (code === "FST_ERR_BAD_URL") return badInput(undefined, "The percent-encoding of the path is broken.");
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) {
    return badInput(undefined, "The request is malformed.");
  }
  return undefined;
}
