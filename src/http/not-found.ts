import type { FastifyReply, FastifyRequest } from "fastify";
import { errorStatus, notFound } from "../errors.ts";
import { sendError } from "./reply-error.ts";

const unimplemented = "There is no such RPC.";

/** Answers a request that no route takes, in the manner of its protocol: RPC clients want UNIMPLEMENTED. */
export function answerNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply {
  const contentType = request.headers["content-type"] ?? "";
  if (/^application\/grpc(?:-web)?(?:[+;-]|$)/.test(contentType)) {
    // A response of trailers only, which gRPC and gRPC-Web both put among the headers.
    return reply
      .code(200)
      .header("content-type", contentType)
      .header("grpc-status", "12")
      .header("grpc-message", encodeURIComponent(unimplemented))
      .send();
  }
  if (request.headers["connect-protocol-version"] !== undefined || /^application\/(?:proto|connect\+)/.test(contentType)) {
    const body = JSON.stringify({ code: "unimplemented", message: unimplemented });
    return reply.code(404).header("content-type", "application/json").send(body);
  }
  return sendError(reply, notFound("There is nothing at this address."), errorStatus.not_found);
}
