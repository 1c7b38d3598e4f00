// Reflection as gRPC's own client has it. test/services/reflection-alone.test.ts lists the services, by v1alpha too.
import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { connect } from "node:http2";
import { setImmediate as turn } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createHandlerContext } from "@connectrpc/connect";
import { status } from "@grpc/grpc-js";
import { describe, expect, it } from "vitest";
import {
  ServerReflection,
  type ServerReflectionRequest,
  ServerReflectionRequestSchema,
} from "../../gen/grpc/reflection/v1/reflection_pb.js";
import { Descriptors } from "../../src/grpc-services/descriptors.ts";
import { createReflectionService } from "../../src/grpc-services/reflection.ts";
import { defaultQuotas } from "../../src/rate-limits/quota.ts";
import { afterFile } from "../support/after-file.ts";
import { callWithoutLimits } from "../support/call-context.ts";
import { collectGarbage } from "../support/garbage.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { createReflectionClient, type ReflectionStream } from "./reflection-client.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

const service = await startService({ config: { operatorToken: "an-example-of-32-characters-or-more" } });

/** The names of the files in a response, in order. @throws Error for another response */
async function filesOf(stream: ReflectionStream, request: object): Promise<string[]> {
  return (await bytesOf(stream, request)).map((bytes) => fromBinary(FileDescriptorProtoSchema, bytes).name);
}

async function bytesOf(stream: ReflectionStream, request: object): Promise<Buffer[]> {
  const reply = await stream.ask(request);
  if (reply.message_response !== "file_descriptor_response") throw new Error(JSON.stringify(reply));
  return reply.file_descriptor_response.file_descriptor_proto;
}

const open = () => createReflectionClient(service.url).open();

describe("reflection", () => {
  it("repeats the request in the response, and ends with its client", async () => {
    const stream = open();
    const reply = await stream.ask({ host: "stoa.example", list_services: "*" });
    expect(reply).toMatchObject({ valid_host: "stoa.example", message_response: "list_services_response" });
    expect(reply.original_request).toMatchObject({ host: "stoa.example", list_services: "*" });
    stream.end();
    expect(await stream.ended).toBe(status.OK);
  });

  it("returns a file with its imports, and sends an import once on a stream, but a requested file each time", async () => {
    const stream = open();
    const [first, ...imports] = await filesOf(stream, { file_by_filename: "stoa/v1/post_service.proto" });
    expect(first).toBe("stoa/v1/post_service.proto");
    expect(imports).toEqual(expect.arrayContaining(["google/protobuf/descriptor.proto", "stoa/v1/resources.proto"]));
    const comments = "stoa/v1/comment_service.proto";
    expect(await filesOf(stream, { file_by_filename: comments })).toEqual([comments]);
    expect(await filesOf(stream, { file_by_filename: comments })).toEqual([comments]);
    expect((await filesOf(open(), { file_by_filename: comments })).length).toBeGreaterThan(5);
  });

  it.each([
    ["a service", "stoa.v1.PostService", "stoa/v1/post_service.proto"],
    ["a method", "stoa.v1.PostService.ListPosts", "stoa/v1/post_service.proto"],
    ["a value of a nested enum", "grpc.health.v1.HealthCheckResponse.NOT_SERVING", "grpc/health/v1/health.proto"],
    ["a field", "stoa.v1.Post.title", "stoa/v1/resources.proto"],
    ["a value of an enum", "stoa.v1.FEED_SORT_HOT", "stoa/v1/feed.proto"],
    ["an extension", "stoa.v1.access", "stoa/v1/options.proto"],
    ["a oneof", "google.api.HttpRule.pattern", "google/api/http.proto"],
    ["an error detail, which no service mentions", "stoa.v1.ErrorDetail", "stoa/v1/error.proto"],
  ])("finds the file that declares %s", async (_what, symbol, file) => {
    expect((await filesOf(open(), { file_containing_symbol: symbol }))[0]).toBe(file);
  });

  it("finds extensions by number, and lists all extension numbers of a message", async () => {
    const stream = open();
    const extension = (containing_type: string, extension_number: number) => ({
      file_containing_extension: { containing_type, extension_number },
    });
    const options = "google.protobuf.MethodOptions";
    expect((await filesOf(stream, extension(options, 50001)))[0]).toBe("stoa/v1/options.proto");
    expect(await filesOf(stream, extension(options, 72295728))).toContain("google/api/annotations.proto");
    const numbers = async (type: string) =>
      (await stream.ask({ all_extension_numbers_of_type: type })).all_extension_numbers_response;
    const ofMethods = await numbers(options);
    expect(ofMethods.base_type_name).toBe(options);
    expect(ofMethods.extension_number).toEqual([...ofMethods.extension_number].sort((a, b) => a - b));
    expect(ofMethods.extension_number).toEqual(expect.arrayContaining([50001, 50002, 72295728]));
    expect((await numbers("stoa.v1.Post")).extension_number ?? []).toEqual([]);
  });

  it.each([
    ["an unknown file", { file_by_filename: "stoa/v2/none.proto" }, status.NOT_FOUND],
    ["the name of a package", { file_containing_symbol: "stoa.v1" }, status.NOT_FOUND],
    ["a name of JavaScript's", { file_containing_symbol: "constructor" }, status.NOT_FOUND],
    [
      "an unknown extension",
      { file_containing_extension: { containing_type: "google.protobuf.MethodOptions", extension_number: -1 } },
      status.NOT_FOUND,
    ],
    ["the numbers of an enum", { all_extension_numbers_of_type: "stoa.v1.FeedSort" }, status.NOT_FOUND],
    ["nothing", {}, status.INVALID_ARGUMENT],
  ])("answers %s with an error, and the stream stays open", async (_what, request, code) => {
    const stream = open();
    const { message_response, error_response, original_request } = await stream.ask(request);
    expect(message_response).toBe("error_response");
    expect(error_response.error_code).toBe(code);
    expect(error_response.error_message).not.toBe("");
    expect(original_request).toMatchObject(request);
    expect((await stream.ask({ list_services: "" })).message_response).toBe("list_services_response");
    stream.end();
    expect(await stream.ended).toBe(status.OK);
  });

  it("answers an unknown request with an error, and a malformed message with a status", async () => {
    const stream = open();
    const failed = stream.ask(Buffer.from([0x9a, 0x06, 0x01, 0x41])); // field 99, a text
    expect((await failed).error_response.error_code).toBe(status.INVALID_ARGUMENT);
    stream.send(Buffer.from([0x0a, 0xff, 0xff, 0xff, 0xff]));
    expect([status.INVALID_ARGUMENT, status.INTERNAL]).toContain(await stream.ended);
    expect((await open().ask({ list_services: "" })).message_response).toBe("list_services_response");
    expect(service.log.filter(({ level }) => Number(level) >= 50)).toEqual([]);
  });

  it("returns the files exactly as the compiler wrote them", async () => {
    const build = ["build", "proto", "--as-file-descriptor-set", "--exclude-source-info", "-o", "-"];
    const compiled = execFileSync("node_modules/.bin/buf", build, { cwd: root, maxBuffer: 2 ** 24 });
    const stream = open();
    const { file: files } = fromBinary(FileDescriptorSetSchema, compiled);
    expect(files.length).toBeGreaterThan(15);
    for (const file of files) {
      const [bytes = Buffer.alloc(0)] = await bytesOf(stream, { file_by_filename: file.name });
      // protobuf-es brings the well-known files from another release of protoc.
      if (file.name.startsWith("google/protobuf/"))
        expect(fromBinary(FileDescriptorProtoSchema, bytes).name).toBe(file.name);
      else expect(Buffer.from(bytes), file.name).toEqual(Buffer.from(toBinary(FileDescriptorProtoSchema, file)));
    }
  });
});

it("reflection is refused over HTTP/1.1, which has no bidirectional streams", async () => {
  const path = "/grpc.reflection.v1.ServerReflection/ServerReflectionInfo";
  for (const contentType of ["application/grpc+proto", "application/grpc-web+proto", "application/connect+proto"]) {
    const reply = await fetch(service.url + path, {
      method: "POST",
      headers: { "content-type": contentType },
      body: new Uint8Array(5),
    });
    expect([reply.status, await reply.text()]).toEqual([505, ""]);
  }
  expect((await fetch(`${service.url}/healthz`)).status).toBe(200);
});

it("a stream answers 1,000 requests and refuses more", async () => {
  const stream = open();
  await Promise.all(Array.from({ length: 1_000 }, () => stream.ask({ file_by_filename: "no/such.proto" })));
  await expect(stream.ask({ list_services: "" })).rejects.toThrow("status 8");
  expect(await stream.ended).toBe(status.RESOURCE_EXHAUSTED);
});

it("ten requests spend one call of the caller's limit, and wait when few are left", async () => {
  const reads = { calls: 10, windowSeconds: 1 };
  const { url } = await startService({ config: { rateLimits: { ...defaultQuotas, reads } } });
  const stream = createReflectionClient(url).open();
  const begun = performance.now();
  for (let count = 0; count < 150; count++) await stream.ask({ file_by_filename: "no/such.proto" });
  // 15 calls, of which 9 come at once.
  expect(performance.now() - begun).toBeGreaterThan(500);
  stream.end();
});

/** Reflection, whose streams are given their requests. */
function serve() {
  const reflection = createReflectionService(new Descriptors([ServerReflection]), new AbortController().signal);
  const context = createHandlerContext({
    service: ServerReflection,
    method: ServerReflection.method.serverReflectionInfo,
    protocolName: "grpc",
    requestMethod: "POST",
    url: "http://127.0.0.1/",
    contextValues: callWithoutLimits(),
  });
  return (requests: AsyncIterable<ServerReflectionRequest>) => reflection.serverReflectionInfo(requests, context);
}

function requestNumber(number: number): ServerReflectionRequest {
  const messageRequest = { case: "listServices", value: "*" } as const;
  return create(ServerReflectionRequestSchema, { host: `host ${number}`, messageRequest });
}

it("what a client sends after the end of its stream is not kept in memory", async () => {
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
