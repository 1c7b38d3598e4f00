// Unary calls in each protocol, as bytes. What our handlers answer was recorded when Connect's own gave the same.
import { once } from "node:events";
import type { Message } from "@bufbuild/protobuf";
import { type CallOptions, Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, it } from "vitest";
import { createGrpcCaller } from "../../services/grpc-js.ts";
import { EchoService } from "../../support/fixture.ts";
import { type FixtureServer, startFixtureServer } from "../../support/fixture-server.ts";
import { recordingIn } from "../../support/recording.ts";
import { waitUntil } from "../../support/wait.ts";
import {
  type Answer,
  type Ask,
  headersOf,
  pathOf,
  type Send,
  sendHttp1,
  sendHttp2,
  sessionWith,
  unfinished,
} from "./asks.ts";
import { enveloped, frame, good, plain } from "./cases.ts";

let ours: FixtureServer;

beforeAll(async () => {
  ours = await startFixtureServer();
});

const compare = recordingIn(new URL("unary.json", import.meta.url));

let asked = 0;

/** Sends a request and compares what comes back, and what the log says, with the recording. @param name tells it apart */
async function answerTo(name: string, send: Send, ask: Ask): Promise<Answer> {
  asked += 1;
  const id = `ask-${asked}`;
  const answer = await send(ours, ask, id);
  const isOfAsk = ({ reqId, msg }: Record<string, unknown>) => reqId === id && /^request/.test(String(msg));
  await waitUntil("the line of the request", () => ours.log.some(isOfAsk));
  const { code, operation } = ours.log.find(isOfAsk) as Record<string, unknown>;
  const { "x-request-id": sentId, ...headers } = answer.headers;
  expect(sentId).toBe(id);
  const noted = { code, operation };
  compare(`${name}: ${send.name} ${ask.type}`, { ...answer, headers, body: answer.body.toString("latin1"), noted });
  return { ...answer, noted };
}

describe.concurrent("a request in envelopes", () => {
  it.each(enveloped)("with %s gives the status %s", async (name, gives, rpc, chunks, headers = {}) => {
    const ways = [
      [sendHttp2, "application/grpc"],
      [sendHttp1, "application/grpc+proto"],
      [sendHttp2, "application/grpc-web+proto"],
    ] as const;
    const check = async ([send, type]: (typeof ways)[number]) => {
      const answer = await answerTo(name, send, { rpc, chunks, headers, type });
      const status = answer.trailers["grpc-status"] ?? /grpc-status: (\d+)/.exec(answer.body.toString("latin1"))?.[1];
      expect([type, status]).toEqual([type, gives]);
    };
    await Promise.all(ways.map(check));
  });

  it("with a trailer of its own, over gRPC-Web", async () => {
    const chunks = [Buffer.concat([frame(good), frame(Buffer.from("a: b\r\n"), 0x80)])];
    const ask = { rpc: "Get", type: "application/grpc-web", chunks };
    const answer = await answerTo("a trailer of its own", sendHttp1, ask);
    expect(answer.body.toString("latin1")).toContain("grpc-status: 0");
  });

  it("with compressed trailers, which are not decompressed", async () => {
    const chunks = [Buffer.concat([frame(good), frame(Buffer.from("no gzip"), 0x81)])];
    const ask = { rpc: "Get", type: "application/grpc-web", chunks, headers: { "grpc-encoding": "gzip" } };
    const answer = await answerTo("compressed trailers", sendHttp1, ask);
    expect(answer.body.toString("latin1")).toContain("grpc-status: 0");
  });

  it("with a compressed end of a stream, which is not decompressed", async () => {
    const stream = sessionWith(ours).request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Watch",
      "content-type": "application/connect+json",
      "connect-content-encoding": "gzip",
    });
    stream.end(Buffer.concat([frame(Buffer.from("{}")), frame(Buffer.from("no gzip"), 3)]));
    const [first] = await once(stream, "data");
    expect(String(first)).toContain("SERVING");
    stream.close();
  });

  it("with JSON in them", async () => {
    for (const type of ["application/grpc+json", "application/grpc-web+json; charset=utf-8"]) {
      for (const text of ['{"name": "x"}', '{"name": 7}', "{", '\ufeff{"unknown": 1}']) {
        const ask = { rpc: "Get", type, chunks: [frame(Buffer.from(text))] };
        const answer = await answerTo(`the JSON ${text}`, sendHttp2, ask);
        expect(answer.headers["content-type"]).toContain("+json");
      }
    }
  });
});

describe.concurrent("JSON with an unexpected character outside the BMP", () => {
  const types = ["application/grpc+json", "application/grpc-web+json"];
  it.each(types)("is refused with a message that can be sent: %s", async (type) => {
    const chunks = [frame(Buffer.from("\u{1f600}"))];
    for (const send of [sendHttp1, sendHttp2]) {
      const { trailers, body } = await send(ours, { rpc: "Get", type, chunks }, "emoji");
      const text = `${JSON.stringify(trailers)} ${body.toString("latin1")}`;
      expect(text).toMatch(/grpc-status(?:":"|: )3/);
      expect(text).toContain("JSON");
    }
  });

  it.each(types)("is refused by a stream: %s", async (type) => {
    const stream = sessionWith(ours).request({
      ":method": "POST",
      ":path": "/grpc.health.v1.Health/Watch",
      "content-type": type,
    });
    let text = "";
    stream.on("trailers", (trailers) => {
      text += JSON.stringify(trailers);
    });
    stream.end(frame(Buffer.from("\u{1f600}")));
    for await (const chunk of stream) text += (chunk as Buffer).toString("latin1");
    expect(text).toMatch(/grpc-status(?:":"|: )3/);
  });
});

describe.concurrent("a request of Connect", () => {
  it.each(plain)("with %s gives the status %s", async (name, gives, rpc, type, chunks, more = {}) => {
    const ask = { rpc, type, chunks, ...more };
    // Over HTTP/2, these requests begin when they are complete.
    const ways = chunks.includes(unfinished) ? [sendHttp1] : [sendHttp1, sendHttp2];
    const check = async (send: Send) => {
      const answer = await answerTo(name, send, ask);
      expect(answer.status, answer.body.toString()).toBe(gives);
    };
    await Promise.all(ways.map(check));
  });
});

it("a GET with broken Base64 is the caller's fault", async () => {
  const ask = { rpc: "OnlyRpc", method: "GET", query: "?encoding=proto&base64=1&message=!" };
  const { status, body } = await sendHttp1(ours, ask, "base64");
  expect([status, JSON.parse(body.toString()).code]).toEqual([400, "invalid_argument"]);
});

it("an unknown failure before a call is logged", async () => {
  const ask = { rpc: "Write", type: "application/proto", headers: { authorization: "Bearer broken" } };
  const answer = await sendHttp1(ours, ask, "broken");
  expect([answer.status, answer.body.toString().includes("hunter2")]).toEqual([500, false]);
  const lines = ours.log.filter(({ reqId, level }) => reqId === "broken" && level === 50);
  expect(lines).toMatchObject([{ err: { message: "the secret is hunter2" } }]);
});

it.each([
  [sendHttp2, "application/grpc", [frame(good)]],
  [sendHttp2, "application/grpc-web+proto", [frame(good)]],
  [sendHttp2, "application/proto", [good]],
  [sendHttp2, "application/json", [Buffer.from("{}")]],
  [sendHttp2, "application/proto", []],
  [sendHttp1, "application/proto", [good]],
] as const)("a call that is answered is not aborted: %o %s", async (send, type, chunks) => {
  asked += 1;
  const id = `answered-${asked}`;
  await send(ours, { rpc: "Get", type, chunks: [...chunks] }, id);
  const isOfCall = ({ reqId, msg }: Record<string, unknown>) => reqId === id && /^request/.test(String(msg));
  await waitUntil("the line of the call", () => ours.log.some(isOfCall));
  expect(ours.log.find(isOfCall)).toMatchObject({ msg: "request", code: "ok", status: 200 });
});

it.each(["application/grpc", "application/proto"])("a call that the client cancels is aborted: %s", async (type) => {
  const waits = ours.nextWait();
  const stream = sessionWith(ours).request({
    ":method": "POST",
    ":path": pathOf({ rpc: "Wait" }),
    ...headersOf({ rpc: "Wait", type }, `cancel-${type}`),
  });
  stream.on("error", () => {}).end(type === "application/grpc" ? frame(good) : good);
  const { signal } = await waits;
  stream.close(8);
  await waitUntil("the end of the call", () => signal.aborted);
  expect(ConnectError.from(signal.reason).code).toBe(Code.Canceled);
  const isOfCall = ({ reqId, msg }: Record<string, unknown>) => reqId === `cancel-${type}` && msg === "request aborted";
  await waitUntil("the line of the call", () => ours.log.some(isOfCall));
  // The line is written when the call has ended, so it says how.
  expect(ours.log.find(isOfCall)).toMatchObject({ code: "ok", operation: "Wait" });
});

describe("a client", () => {
  const calls: [string, object, CallOptions?][] = [
    ["get", { name: "a client" }],
    ["get", { name: "long ".repeat(1_000) }, { timeoutMs: 10_000 }],
    ["fail", { name: "missing" }],
    ["fail", { name: "x" }],
  ];

  it("of Connect gets what it shall, over every protocol", async () => {
    const outcomes = async ({ url: baseUrl }: FixtureServer) => {
      const transports = [
        createConnectTransport({ baseUrl, httpVersion: "2" }),
        createConnectTransport({ baseUrl, httpVersion: "1.1", useBinaryFormat: false, useHttpGet: true }),
        createGrpcTransport({ baseUrl }),
        createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
      ];
      const all = transports.flatMap((transport) => {
        const client = createClient(EchoService, transport) as unknown as Record<
          string,
          (message: object, options?: CallOptions) => Promise<Message>
        >;
        return calls.map(async ([name, message, options]) => {
          try {
            return await client[name]?.(message, options);
          } catch (error) {
            const { code, rawMessage, details } = ConnectError.from(error);
            return { code, rawMessage, details: details.length };
          }
        });
      });
      return Promise.all(all);
    };
    const all = await outcomes(ours);
    expect(all).toHaveLength(16);
    for (let first = 0; first < all.length; first += calls.length) {
      const one = all.slice(first, first + calls.length);
      expect(one[0]).toMatchObject({ name: "a client", rpc: "Get" });
      expect(one[1]).toMatchObject({ name: "long ".repeat(1_000) });
      expect(one[2]).toEqual({ code: Code.NotFound, rawMessage: "It is not here.", details: 2 });
      expect(one[3]).toMatchObject({ code: Code.Internal, details: 2 });
    }
  });

  it("of the gRPC project gets what it shall", async () => {
    const client = createGrpcCaller(ours.url, EchoService);
    const call = ([name, message]: (typeof calls)[number]) =>
      client.call(EchoService.method[name] as never, message as never);
    expect(await call(calls[0] as never)).toMatchObject({ name: "a client", rpc: "Get" });
    const failure = call(calls[2] as never);
    await expect(failure).rejects.toMatchObject({ code: 5, details: "It is not here." });
    const { metadata } = (await failure.catch((error) => error)) as { metadata: { toJSON(): object } };
    expect(Object.keys(metadata.toJSON())).toContain("grpc-status-details-bin");
  });
});
