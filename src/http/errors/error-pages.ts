import type { FastifyReply, FastifyRequest } from "fastify";
import type { StoaError } from "../../errors.ts";

/** Shows failures as pages, for people. The transport knows nothing else of pages. */
export interface ErrorPages {
  /** Whether a failure of this request is answered with a page. The API always answers in the Error shape. */
  answersWithPage(request: FastifyRequest): boolean;
  /** Sends a failure as a page. */
  sendError(request: FastifyRequest, reply: FastifyReply, error: StoaError): FastifyReply;
}
