import type { FastifyReply, FastifyRequest } from "fastify";
import { errorStatus } from "../../errors.ts";
import type { ErrorPages } from "./error-pages.ts";
import { nothingHere, type RouteMethods } from "./methods.ts";
import { sendError } from "./reply-error.ts";

const unimplemented = "There is no such RPC.";

/** `/package.Service/Method`. Other addresses are answered as REST, whatever protocol the request names. */
const rpcPath = /^\/\w+(?:\.\w+)+\/\w+(?:\?|$)/;

export interface NotFoundContext {
  pages: ErrorPages | undefined;
  methods: RouteMethods;
}

/** Answers a request that no route takes in the manner of its protocol: RPC clients get UNIMPLEMENTED, people a page. */
export function answerNotFound(request: FastifyRequest, reply: FastifyReply, context: NotFoundContext): FastifyReply {
  return (rpcPath.test(request.originalUrl) && answerAsRpc(request, reply)) || answerAsRest(request, reply, context);
}

/** @returns undefined if the request does not come from an RPC client */
function answerAsRpc(request: FastifyRequest, reply: FastifyReply): FastifyReply | undefined {
  const contentType = request.headers["content-type"] ?? "";
  if (/^application\/grpc(?:-web)?(?:[+;-]|$)/.test(contentType)) {
    // gRPC and gRPC-Web send a response without a body as headers only. gRPC requires that the stream ends with that frame
    // of headers, which Fastify would not do.
    reply.hijack();
    reply.raw.statusCode = 200;
    for (const [name, value] of Object.entries(reply.getHeaders())) reply.raw.setHeader(name, value ?? "");
    reply.raw.setHeader("content-type", contentType);
    reply.raw.setHeader("grpc-status", "12");
    reply.raw.setHeader("grpc-message", unimplemented);
    const { context } = request;
    for (const [name, value] of Object.entries(context.limits.fields())) reply.raw.setHeader(name, value);
    context.isFault = true;
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
  return undefined;
}

function answerAsRest(request: FastifyRequest, reply: FastifyReply, { pages, methods }: NotFoundContext): FastifyReply {
  const error = nothingHere(request, reply, methods.at(request.url));
  if (pages?.answersWithPage(request)) return pages.sendError(request, reply, error);
  return sendError(reply, error, errorStatus.not_found);
}
