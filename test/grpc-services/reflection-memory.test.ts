import { once } from "node:events";
import { connect } from "node:http2";
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
import { afterFile } from "../support/after-file.ts";
import { callWithoutLimits } from "../support/call-context.ts";
import { collectGarbage } from "../support/garbage.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

/** A service, whose streams are given their requests. */
function serve() {
  const service = createReflectionService(new Descriptors([ServerReflection]), new AbortController().signal);
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

it("what a client sends after the end of its stream is not kept in memory", async () => {
  const service = await startService();
  const session = connect(service.url);
  afterFile(() => session.destroy());
  const stream = session.request({
    ":method": "POST",
    ":path": `/${ServerReflection.typeName}/ServerReflectionInfo`,
    "content-type": "application/grpc",
    te: "trailers",
  });
  const ended = once(stream.resume(), "end");
  const request = Buffer.from([0, 0, 0, 0, 2, 0x3a, 0]);
  // More than a stream answers, in so many pieces that the service does not read all of them.
  for (let piece = 0; piece < 12; piece++) {
    stream.write(Buffer.alloc(500 * request.length, request));
    await new Promise((resolve) => session.ping(resolve));
  }
  await ended;
  const megabyte = Buffer.alloc(1024 * 1024);
  collectGarbage();
  const before = process.memoryUsage().arrayBuffers;
  for (let sent = 0; sent < 32; sent++) await new Promise((resolve) => stream.write(megabyte, resolve));
  // V8 gives the memory of dead buffers back in a thread of its own, some time after it has found them.
  await waitUntil("little memory", () => {
    collectGarbage();
    return process.memoryUsage().arrayBuffers - before < 8 * megabyte.length;
  });
  // The client was not held up until the time limit of its request.
  expect(stream.closed).toBe(false);
});

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
