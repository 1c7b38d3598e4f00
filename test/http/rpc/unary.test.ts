// Our handlers of unary calls answer as Connect's own do: the same requests go to both.
import { once } from "node:events";
import type { Message } from "@bufbuild/protobuf";
import { type CallOptions, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, it } from "vitest";
import { createGrpcCaller } from "../../services/grpc-js.ts";
import { EchoService } from "../../support/fixture.ts";
import { type FixtureServer, startFixtureServer } from "../../support/fixture-server.ts";
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
let connects: FixtureServer;

beforeAll(async () => {
  ours = await startFixtureServer();
  connects = await startFixtureServer({ byFrameworksAlone: true });
});

let asked = 0;

async function answers(send: Send, ask: Ask): Promise<[Answer, Answer]> {
  asked += 1;
  const id = `ask-${asked}`;
  const one = async (server: FixtureServer): Promise<Answer> => {
    const answer = await send(server, ask, id);
    const isOfAsk = ({ reqId, msg }: Record<string, unknown>) => reqId === id && /^request/.test(String(msg));
    await waitUntil("the line of the request", () => server.log.some(isOfAsk));
    // Connect ends requests that it does not read to their end, and some lines then say that the client did.
    const { code, operation } = server.log.find(isOfAsk) as Record<string, unknown>;
    return { ...answer, noted: { code, operation } };
  };
  return Promise.all([one(ours), one(connects)]);
}

describe.concurrent("a request in envelopes", () => {
  it.each(enveloped)("with %s gives the status %s", async (_name, gives, rpc, chunks, headers = {}) => {
    const ways = [
      [sendHttp2, "application/grpc"],
      [sendHttp1, "application/grpc+proto"],
      [sendHttp2, "application/grpc-web+proto"],
    ] as const;
    const check = async ([send, type]: (typeof ways)[number]) => {
      const [answer, expected] = await answers(send, { rpc, chunks, headers, type });
      expect(answer, type).toEqual(expected);
      const status = answer.trailers["grpc-status"] ?? /grpc-status: (\d+)/.exec(answer.body.toString("latin1"))?.[1];
      expect([type, status]).toEqual([type, gives]);
    };
    await Promise.all(ways.map(check));
  });

  it("with a trailer of its own, over gRPC-Web", async () => {
    const chunks = [Buffer.concat([frame(good), frame(Buffer.from("a: b\r\n"), 0x80)])];
    const [answer, expected] = await answers(sendHttp1, { rpc: "Get", type: "application/grpc-web", chunks });
    expect(answer).toEqual(expected);
    expect(answer.body.toString("latin1")).toContain("grpc-status: 0");
  });

  it("with compressed trailers, which are not decompressed", async () => {
    const chunks = [Buffer.concat([frame(good), frame(Buffer.from("no gzip"), 0x81)])];
    const ask = { rpc: "Get", type: "application/grpc-web", chunks, headers: { "grpc-encoding": "gzip" } };
    const [answer, expected] = await answers(sendHttp1, ask);
    expect(answer).toEqual(expected);
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
        const [answer, expected] = await answers(sendHttp2, { rpc: "Get", type, chunks: [frame(Buffer.from(text))] });
        expect(answer).toEqual(expected);
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
  it.each(plain)("with %s gives the status %s", async (_name, gives, rpc, type, chunks, more = {}) => {
    const ask = { rpc, type, chunks, ...more };
    // Over HTTP/2, these requests begin when they are complete.
    const ways = chunks.includes(unfinished) ? [sendHttp1] : [sendHttp1, sendHttp2];
    const check = async (send: Send) => {
      const [answer, expected] = await answers(send, ask);
      expect(answer).toEqual(expected);
      expect(answer.status, answer.body.toString()).toBe(gives);
    };
    await Promise.all(ways.map(check));
  });
});

it("a GET with broken Base64 is the caller's fault", async () => {
  const [answer, byConnect] = await answers(sendHttp1, {
    rpc: "OnlyRpc",
    method: "GET",
    query: "?encoding=proto&base64=1&message=!",
  });
  expect([answer.status, byConnect.status]).toEqual([400, 500]);
});

it.each([
  ["a unary call", () => ours],
  ["a call that Connect serves", () => connects],
])("an unknown failure before %s is logged", async (_name, server) => {
  const ask = { rpc: "Write", type: "application/proto", headers: { authorization: "Bearer broken" } };
  const answer = await sendHttp1(server(), ask, "broken");
  expect([answer.status, answer.body.toString().includes("hunter2")]).toEqual([500, false]);
  const lines = server().log.filter(({ reqId, level }) => reqId === "broken" && level === 50);
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

describe("a call that the client cancels", () => {
  it.each(["application/grpc", "application/proto"])("ends in the same way: %s", async (type) => {
    const notes = [];
    for (const server of [ours, connects]) {
      const waits = server.nextWait();
      const stream = sessionWith(server).request({
        ":method": "POST",
        ":path": pathOf({ rpc: "Wait" }),
        ...headersOf({ rpc: "Wait", type }, `cancel-${type}`),
      });
      stream.on("error", () => {}).end(type === "application/grpc" ? frame(good) : good);
      const { signal } = await waits;
      stream.close(8);
      await waitUntil("the end of the call", () => signal.aborted);
      const isOfCall = ({ reqId, msg }: Record<string, unknown>) =>
        reqId === `cancel-${type}` && msg === "request aborted";
      await waitUntil("the line of the call", () => server.log.some(isOfCall));
      const { code, operation, status } = server.log.find(isOfCall) as Record<string, unknown>;
      notes.push({ code, operation, status, reason: ConnectError.from(signal.reason).code });
    }
    // Our line is written when the call has ended, so it says how. Connect's call may still run when its line is written.
    expect(notes[0]).toEqual({ ...notes[1], code: "ok" });
  });
});

describe("a client", () => {
  const calls: [string, object, CallOptions?][] = [
    ["get", { name: "a client" }],
    ["get", { name: "long ".repeat(1_000) }, { timeoutMs: 10_000 }],
    ["fail", { name: "missing" }],
    ["fail", { name: "x" }],
  ];

  it("of Connect gets the same, over every protocol", async () => {
    const outcomes = [ours, connects].map(async ({ url: baseUrl }) => {
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
            return { code, rawMessage, details };
          }
        });
      });
      return Promise.all(all);
    });
    const [our, theirs] = await Promise.all(outcomes);
    expect(our).toEqual(theirs);
    expect(our?.[0]).toMatchObject({ name: "a client", rpc: "Get" });
    expect(our?.[2]).toMatchObject({ rawMessage: "It is not here." });
  });

  it("of the gRPC project gets the same", async () => {
    const outcomes = [ours, connects].map(async ({ url }) => {
      const client = createGrpcCaller(url, EchoService);
      return Promise.all(
        calls.map(async ([name, message]) => {
          try {
            return await client.call(EchoService.method[name] as never, message as never);
          } catch (error) {
            const { code, details, metadata } = error as {
              code: number;
              details: string;
              metadata: { toJSON(): object };
            };
            return { code, details, metadata: Object.keys(metadata.toJSON()).sort() };
          }
        }),
      );
    });
    const [our, theirs] = await Promise.all(outcomes);
    expect(our).toEqual(theirs);
    expect(our?.[2]).toMatchObject({ code: 5, details: "It is not here." });
  });
});
