import type { IncomingMessage, ServerResponse } from "node:http";

/** Serves the requests of a port. Over HTTP/2 it gets Node's messages of that version, which have the same members. */
export type Handler = (request: IncomingMessage, response: ServerResponse) => void;
