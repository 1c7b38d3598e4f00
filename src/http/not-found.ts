import type { FastifyReply, FastifyRequest } from "fastify";
import { errorStatus, notFound } from "../errors.ts";
import { setLimitFields } from "./limits/hooks.ts";
import { sendError } from "./reply-error.ts";
import type { Site } from "./site/routes.ts";

const unimplemented = "There is no such RPC.";

/** `/package.Service/Method`. Other addresses are answered as REST, whatever a request says of its protocol. */
const rpcPath = /^\/\w+(?:\.\w+)+\/\w+(?:\?|$)/;

/**
 * Answers a request that no route takes, in the manner of its protocol: RPC clients want UNIMPLEMENTED, people a page.
 */
export function answerNotFound(request: FastifyRequest, reply: FastifyReply, site: Site | undefined): FastifyReply {
  return rpcPath.test(request.originalUrl) ? answerAsRpc(request, reply, site) : answerAsRest(request, reply, site);
}

function answerAsRpc(request: FastifyRequest, reply: FastifyReply, site: Site | undefined): FastifyReply {
  const contentType = request.headers["content-type"] ?? "";
  if (/^application\/grpc(?:-web)?(?:[+;-]|$)/.test(contentType)) {
    // A response of trailers only, which gRPC and gRPC-Web both put among the headers. gRPC wants the stream to end with
    // the very frame of headers, which Fastify would not do.
    reply.hijack();
    reply.raw.statusCode = 200;
    reply.raw.setHeader("x-request-id", request.id);
    reply.raw.setHeader("content-type", contentType);
    reply.raw.setHeader("grpc-status", "12");
    reply.raw.setHeader("grpc-message", unimplemented);
    if (request.callLimits !== undefined) {
      setLimitFields(reply.raw, request.callLimits);
      request.callLimits.faulty = true;
    }
    reply.raw.end();
    return reply;
  }
  if (
    request.headers["connect-protocol-version"] !== undefined ||
    /^application\/(?:proto|connect\+)/.test(contentType)
  ) {
    const body = JSON.stringify({ code: "unimplemented", message: unimplemented });
    return reply.code(404).header("content-type", "application/json").send(body);
  }
  return answerAsRest(request, reply, site);
}

function answerAsRest(request: FastifyRequest, reply: FastifyReply, site: Site | undefined): FastifyReply {
  const error = notFound("There is nothing at this address.");
  if (site?.answersWithPage(request)) return site.sendError(request, reply, error);
  return sendError(reply, error, errorStatus.not_found);
}
