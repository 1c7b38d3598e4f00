import { nothingHere, type RouteMethods } from "../errors/methods.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";
import { grpcOf, isRpcRequest } from "../requests/head.ts";
import type { Answer, ServedRoute } from "./route.ts";

const unimplemented = "There is no such RPC.";

/** `/package.Service/Method`. Other addresses are answered as REST, whatever protocol the request names. */
const rpcPath = /^\/\w+(?:\.\w+)+\/\w+(?:\?|$)/;

/** Serves the requests that no route takes, in the manner of their protocols: RPC clients get UNIMPLEMENTED, people a page. */
export function createNotFound(all: RouteMethods): ServedRoute {
  const serve = (context: RequestContext): Answer => {
    const methods = all.at(context.url);
    const asRpc = methods.length === 0 && rpcPath.test(context.url) ? answerAsRpc(context) : undefined;
    if (asRpc !== undefined) return asRpc;
    throw nothingHere(context.request.method, methods);
  };
  return { path: undefined, methods: [], rpc: undefined, limits: undefined, maxBody: 0, serve };
}

/** @returns undefined if the request does not come from an RPC client */
function answerAsRpc(context: RequestContext): HttpReply | undefined {
  const { headers } = context.request;
  const contentType = headers["content-type"] ?? "";
  if (grpcOf(contentType) !== undefined) {
    context.notes.outcome = "not_found";
    // gRPC and gRPC-Web send a response without a body as headers only.
    return { status: 200, fields: { "content-type": contentType, "grpc-status": "12", "grpc-message": unimplemented } };
  }
  if (!isRpcRequest(headers)) return undefined;
  const body = JSON.stringify({ code: "unimplemented", message: unimplemented });
  return { status: 404, fields: { "content-type": "application/json; charset=utf-8" }, body };
}
