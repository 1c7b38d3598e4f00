import { setImmediate as turn } from "node:timers/promises";
import { create } from "@bufbuild/protobuf";
import { createHandlerContext } from "@connectrpc/connect";
import { expect, it } from "vitest";
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { Descriptors } from "../../src/grpc-services/descriptors.ts";
import { createReflectionService } from "../../src/grpc-services/reflection.ts";
import { callWithoutLimits } from "../support/call-context.ts";
import { collectGarbage } from "../support/garbage.ts";

/** A service, whose streams are given their requests. */
function serve() {
  const service = createReflectionService(new Descriptors([ServerReflection]), {
    shutdown: new AbortController().signal,
  });
  const context = createHandlerContext({
    service: ServerReflection,
    method: ServerReflection.method.serverReflectionInfo,
    protocolName: "grpc",
    requestMethod: "POST",
    url: "http://127.0.0.1/",
    contextValues: callWithoutLimits(),
  });
  return (requests: AsyncIterable<ServerReflectionRequest>) => service.serverReflectionInfo(requests, context);
}

function requestNumber(number: number): ServerReflectionRequest {
  const messageRequest = { case: "listServices", value: "*" } as const;
  return create(ServerReflectionRequestSchema, { host: `host ${number}`, messageRequest });
}

it("an open stream keeps no answered requests in memory", async () => {
  const asked: WeakRef<ServerReflectionRequest>[] = [];
  const total = 40;
  async function* requests() {
    for (let number = 0; number < total; number++) {
      const request = requestNumber(number);
      asked.push(new WeakRef(request));
      yield request;
    }
    await turn();
    collectGarbage();
    // What is being worked on just now may well be there.
    expect(asked.filter((each) => each.deref() !== undefined).length).toBeLessThan(4);
  }
  const open = serve();
  let answers = 0;
  for await (const { messageResponse } of open(requests())) {
    expect(messageResponse?.case).toBe("listServicesResponse");
    answers += 1;
  }
  expect(answers).toBe(total);
});
