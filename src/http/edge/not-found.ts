import { nothingHere, type RouteMethods } from "../errors/methods.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";
import { answerGuess } from "./guesses.ts";
import type { Answer, ServedRoute } from "./route.ts";

/** `/package.Service/Method`. Other addresses are answered as REST, whatever protocol the request names. */
const rpcPath = /^\/\w+(?:\.\w+)+\/\w+(?:\?|$)/;

/** Answers a request for an RPC that does not exist; undefined if it does not come from an RPC client. */
export type AnswerAsRpc = (context: RequestContext) => HttpReply | undefined;

/** Serves the requests that no route takes, in the manner of their protocols: RPC clients get UNIMPLEMENTED, people a page. */
export function createNotFound(all: RouteMethods, answerAsRpc: AnswerAsRpc): ServedRoute {
  const serve = (context: RequestContext): Answer => {
    const methods = all.at(context.url);
    if (methods.length > 0) throw nothingHere(context.request.method, methods);
    return (rpcPath.test(context.url) ? answerAsRpc(context) : undefined) ?? answerGuess(context, all);
  };
  return { serve };
}
