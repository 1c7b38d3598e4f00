import { setImmediate as turn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createHandlerContext } from "@connectrpc/connect";
import { expect, it } from "vitest";
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
} from "../../../gen/grpc/reflection/v1/reflection_pb.js";
import { Descriptors } from "../../../src/http/grpc/descriptors.ts";
import { createReflectionService } from "../../../src/http/grpc/reflection.ts";
import { callWithoutLimits } from "../../support/call-context.ts";
import { collectGarbage } from "../../support/garbage.ts";

it("an open stream keeps no answered requests in memory", async () => {
  const service = createReflectionService(new Descriptors([ServerReflection]), {
    shutdown: new AbortController().signal,
  });
  const asked: WeakRef<ServerReflectionRequest>[] = [];
  const total = 40;
  async function* requests() {
    for (let number = 0; number < total; number++) {
      const messageRequest = { case: "listServices", value: "*" } as const;
      const request = create(ServerReflectionRequestSchema, { host: `host ${number}`, messageRequest });
      asked.push(new WeakRef(request));
      yield request;
    }
    await turn();
    collectGarbage();
    // What is being worked on just now may well be there.
    expect(asked.filter((each) => each.deref() !== undefined).length).toBeLessThan(4);
  }
  const context = createHandlerContext({
    service: ServerReflection,
    method: ServerReflection.method.serverReflectionInfo,
    protocolName: "grpc",
    requestMethod: "POST",
    url: "http://127.0.0.1/",
    contextValues: callWithoutLimits(),
  });
  let answers = 0;
  for await (const { messageResponse } of service.serverReflectionInfo(requests(), context)) {
    expect(messageResponse?.case).toBe("listServicesResponse");
    answers += 1;
  }
  expect(answers).toBe(total);
});
