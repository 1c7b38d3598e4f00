// The clients of internal services on the one port: grpc-js, and Connect's own over both HTTP versions.

import {
  create,
  createFileRegistry,
  type DescService,
  fromBinary,
  type MessageShape,
  toBinary,
} from "@bufbuild/protobuf";
import { FileDescriptorProtoSchema, file_google_protobuf_wrappers, StringValueSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport, createGrpcTransport } from "@connectrpc/connect-node";
import * as grpc from "@grpc/grpc-js";
import { generate } from "selfsigned";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Port } from "../../../src/http/port/port.ts";
import { noTimeLimits } from "../../support/port.ts";

type StringValue = MessageShape<typeof StringValueSchema>;

const text = (value: string) => create(StringValueSchema, { value });

/** A service of strings, described here so that the test needs no generated code. */
function describeService(): DescService {
  const types = { inputType: ".google.protobuf.StringValue", outputType: ".google.protobuf.StringValue" };
  const file = create(FileDescriptorProtoSchema, {
    name: "echo.proto",
    package: "test",
    syntax: "proto3",
    dependency: ["google/protobuf/wrappers.proto"],
    service: [
      {
        name: "Echo",
        method: [
          { name: "Unary", ...types },
          { name: "Letters", ...types, serverStreaming: true },
          { name: "Chat", ...types, clientStreaming: true, serverStreaming: true },
        ],
      },
    ],
  });
  const service = createFileRegistry(file, () => file_google_protobuf_wrappers).getService("test.Echo");
  if (!service) throw new Error("test.Echo is not described");
  return service;
}
const Echo = describeService();

async function* letters({ value }: StringValue) {
  for (const letter of value) yield text(letter);
}
async function* chat(requests: AsyncIterable<StringValue>) {
  for await (const { value } of requests) yield text(value.toUpperCase());
}

/** A grpc-js client, which knows nothing of Connect. */
function grpcClient(address: string, credentials: grpc.ChannelCredentials) {
  const method = (name: string, requestStream: boolean, responseStream: boolean) => ({
    path: `/test.Echo/${name}`,
    requestStream,
    responseStream,
    requestSerialize: (message: StringValue) => Buffer.from(toBinary(StringValueSchema, message)),
    requestDeserialize: (bytes: Buffer) => fromBinary(StringValueSchema, bytes),
    responseSerialize: (message: StringValue) => Buffer.from(toBinary(StringValueSchema, message)),
    responseDeserialize: (bytes: Buffer) => fromBinary(StringValueSchema, bytes),
  });
  const definition = {
    unary: method("Unary", false, false),
    letters: method("Letters", false, true),
    chat: method("Chat", true, true),
  };
  return new (grpc.makeGenericClientConstructor(definition, "Echo"))(address, credentials) as unknown as grpc.Client & {
    unary(request: StringValue, done: (error: grpc.ServiceError | null, reply: StringValue) => void): void;
    letters(request: StringValue): grpc.ClientReadableStream<StringValue>;
    chat(): grpc.ClientDuplexStream<StringValue, StringValue>;
  };
}

describe.each(["http", "https"])("RPC over %s", (scheme) => {
  let close: () => Promise<unknown>;
  let address: string;
  let certificate: string;

  beforeAll(async () => {
    const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }]);
    certificate = cert;
    const tls = scheme === "https" ? { cert, key } : undefined;
    const handle = connectNodeAdapter({
      routes: (router) => {
        const echo = { unary: (request: StringValue) => request, letters, chat };
        router.service(Echo, echo as object); // the types of its methods are known at run time alone
      },
    });
    const port = new Port({ ...noTimeLimits, tls }, { handle: handle as never });
    address = `127.0.0.1:${await port.listen({ host: "127.0.0.1", port: 0 })}`;
    close = () => port.drained();
  });
  afterAll(() => close());

  it("serves grpc-js: unary, server stream, bidirectional", async () => {
    const credentials =
      scheme === "https"
        ? grpc.credentials.createSsl(Buffer.from(certificate), null, null, { checkServerIdentity: () => undefined })
        : grpc.credentials.createInsecure();
    const client = grpcClient(address, credentials);
    const reply = await new Promise<StringValue>((resolve, reject) => {
      client.unary(text("stoa"), (error, reply) => (error ? reject(error) : resolve(reply)));
    });
    expect(reply.value).toBe("stoa");
    const streamed = await client.letters(text("stoa")).toArray();
    expect(streamed.map(({ value }) => value)).toEqual(["s", "t", "o", "a"]);

    const call = client.chat();
    const answers = call[Symbol.asyncIterator]();
    for (const word of ["one", "two"]) {
      call.write(text(word));
      expect((await answers.next()).value.value).toBe(word.toUpperCase());
    }
    call.end();
    expect((await answers.next()).done).toBe(true);
    client.close();
  });

  it.each([
    ["Connect over HTTP/1.1", createConnectTransport, "1.1"],
    ["Connect over HTTP/2", createConnectTransport, "2"],
    ["gRPC", createGrpcTransport, "2"],
  ] as const)("serves %s", async (_name, createTransport, httpVersion) => {
    const nodeOptions = { rejectUnauthorized: false };
    const transport = createTransport({ baseUrl: `${scheme}://${address}`, httpVersion, nodeOptions } as never);
    const client = createClient(Echo, transport) as unknown as {
      unary(request: StringValue): Promise<StringValue>;
      letters(request: StringValue): AsyncIterable<StringValue>;
    };
    expect((await client.unary(text("stoa"))).value).toBe("stoa");
    let streamed = "";
    for await (const { value } of client.letters(text("stoa"))) streamed += value;
    expect(streamed).toBe("stoa");
  });
});
