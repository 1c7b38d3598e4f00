import { setImmediate as turn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createContextValues, createHandlerContext } from "@connectrpc/connect";
import { expect, it } from "vitest";
import { Health, HealthCheckRequestSchema } from "../../../gen/grpc/health/v1/health_pb.js";
import { StoaError } from "../../../src/errors.ts";
import { createHealthService } from "../../../src/http/grpc/health.ts";
import { Readiness } from "../../../src/http/health/readiness.ts";
import { collectGarbage } from "../../support/garbage.ts";

it.each(["", "no.such.Service"])("an open watch of %o keeps nothing of its request in memory", async (service) => {
  const shutdown = new AbortController();
  const readiness = new Readiness(async () => undefined, { info() {}, warn() {} }, shutdown.signal);
  const { watch } = createHealthService([], readiness);
  const context = createHandlerContext({
    service: Health,
    method: Health.method.watch,
    protocolName: "grpc",
    requestMethod: "POST",
    url: "http://127.0.0.1/",
    contextValues: createContextValues(),
  });
  const begin = () => {
    const request = create(HealthCheckRequestSchema, { service });
    const stream = watch(request, context) as AsyncGenerator;
    return { request: new WeakRef(request), stream };
  };
  const { request, stream } = begin();
  await stream.next();
  const next = stream.next();
  await turn();
  collectGarbage();
  expect(request.deref()).toBeUndefined();
  shutdown.abort(new StoaError("unavailable", "The service is stopping.", { retryAfterSeconds: 1 }));
  await expect(next.then(() => stream.next())).rejects.toMatchObject({ code: "unavailable" });
});
