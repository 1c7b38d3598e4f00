// How the request and response of a stream differ between HTTP/1.1 and HTTP/2.
import { constants, type Http2Session } from "node:http2";
import type { Socket } from "node:net";
import type { RequestContext } from "./context.ts";
import type { HttpRequest, HttpResponse } from "./http-messages.ts";

/** The connection of a request; undefined if it is closed. */
export function connectionOf({ stream, socket }: HttpRequest): Socket | Http2Session | undefined {
  const connection = stream === undefined ? socket : stream.session;
  return connection?.destroyed === false ? connection : undefined;
}

/** Resolves when the client has taken what was written to a response, or the response is closed. */
export function untilTaken({ response, isOpen }: RequestContext): Promise<void> {
  if (!isOpen) return Promise.resolve();
  const { promise, resolve } = Promise.withResolvers<void>();
  response.on("drain", resolve).on("close", resolve);
  return promise.finally(() => response.off("drain", resolve).off("close", resolve));
}

/** Closes a response at once, whether or not the client reads: its stream over HTTP/2, its connection over HTTP/1.1. */
export function cut(response: HttpResponse): void {
  const { stream } = response;
  if (stream === undefined) {
    response.destroy();
    return;
  }
  stream.close(constants.NGHTTP2_CANCEL);
  stream.destroy();
}
