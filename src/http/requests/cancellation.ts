import { Code, ConnectError } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";

const controllers = new WeakMap<FastifyRequest, AbortController>();

/** Aborts when the client goes away before its reply has been written, and when `giveUp` says so; one for each request. */
export function cancellation(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  let controller = controllers.get(request);
  if (controller === undefined) {
    const created = new AbortController();
    reply.raw.once("close", () => {
      if (!reply.raw.writableFinished) created.abort(new ConnectError("the client went away", Code.Canceled));
    });
    controllers.set(request, created);
    controller = created;
  }
  return controller.signal;
}

/** Aborts the signal that `cancellation` gave for a request. */
export function giveUp(request: FastifyRequest, reason: unknown): void {
  controllers.get(request)?.abort(reason);
}
