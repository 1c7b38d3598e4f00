import type { StoaError } from "../../errors.ts";
import type { HttpReply } from "../replies/reply.ts";
import type { RequestContext } from "../requests/context.ts";

/** Shows failures as pages, for people. The transport knows nothing else of pages. */
export interface ErrorPages {
  /** Whether a failure of this request is answered with a page. The API always answers in the Error shape. */
  answersWithPage(context: RequestContext): boolean;
  errorPage(context: RequestContext, error: StoaError): HttpReply;
}
