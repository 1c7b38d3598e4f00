import { Code, ConnectError } from "@connectrpc/connect";
import type { FastifyReply, FastifyRequest } from "fastify";

const signals = new WeakMap<FastifyRequest, AbortSignal>();

/** A signal that aborts when the client goes away before its reply has been written; one for each request. */
export function cancellation(request: FastifyRequest, reply: FastifyReply): AbortSignal {
  let signal = signals.get(request);
  if (signal === undefined) {
    const controller = new AbortController();
    reply.raw.once("close", () => {
      if (!reply.raw.writableFinished) controller.abort(new ConnectError("the client went away", Code.Canceled));
    });
    signal = controller.signal;
    signals.set(request, signal);
  }
  return signal;
}
