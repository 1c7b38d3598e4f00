import type { IncomingMessage, ServerResponse } from "node:http";
import type { HttpRequest, HttpResponse } from "../../calls/http-messages.ts";

export type Handler = (request: IncomingMessage, response: ServerResponse) => void;

/** What serves the requests of a port. */
export interface RequestHandlers {
  /** Is asked first. @returns whether it serves the request */
  take(request: HttpRequest, response: HttpResponse): boolean;
  /** Serves the other requests. Over HTTP/2, Node's objects for them are made only then. */
  handle: Handler;
}
