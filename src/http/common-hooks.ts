import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { badInput } from "../errors.ts";
import type { Admission } from "./admission/admission.ts";
import { admitVisit } from "./admission/hooks.ts";
import type { CommonFields } from "./direct/direct-requests.ts";
import type { ErrorPages } from "./errors/error-pages.ts";
import { answerFailure } from "./errors/failures.ts";
import type { RouteMethods } from "./errors/methods.ts";
import { answerNotFound } from "./errors/not-found.ts";
import type { Metrics } from "./metrics/metrics.ts";
import { hasGoodHost } from "./requests/host.ts";
import type { RequestLog } from "./requests/request-log.ts";

export interface CommonHooks {
  requestLog: RequestLog;
  methods: RouteMethods;
  admission: Admission;
  pages: ErrorPages | undefined;
  metrics: Metrics;
  shutdown: AbortSignal;
  commonFields: CommonFields;
}

/** Adds what all requests have in common that Fastify serves. Those that are served beside it have it from `DirectRequests`. */
export function addCommonHooks(
  app: FastifyInstance,
  { methods, requestLog, admission, pages, metrics, shutdown, commonFields }: CommonHooks,
): void {
  app.addHook("onRequest", ({ context }, reply, done) => {
    requestLog.begin(context);
    reply.headers(commonFields(context));
    done();
  });
  const answerUnrouted = async (request: FastifyRequest, reply: FastifyReply) => {
    await admitVisit(admission, request);
    answerNotFound(request, reply, { pages, methods });
  };
  app.addHook("onRequest", (request, reply, done) => {
    if (shutdown.aborted) {
      done(shutdown.reason);
    } else if (!hasGoodHost(request.raw)) {
      done(badInput(undefined, "The Host header is missing, malformed or repeated."));
    } else if (request.is404) {
      // A request without a route is answered before its body is read.
      answerUnrouted(request, reply).catch(done);
    } else done();
  });
  app.setNotFoundHandler((request, reply) => answerNotFound(request, reply, { pages, methods }));
  app.setErrorHandler((error, request, reply) => {
    // Fastify calls no hook for a method that its router does not know.
    request.context ??= admission.begin(request.raw, reply.raw, request.id);
    return answerFailure(error, request, reply, pages);
  });
  app.addHook("onResponse", ({ context }, _reply, done) => {
    admission.end(context);
    metrics.observe(context);
    requestLog.finished(context);
    done();
  });
  app.addHook("onRequestAbort", async ({ context }) => requestLog.aborted(context));
}
