// Unary calls in each protocol, as bytes. What our handlers answer was recorded when Connect's own gave the same.
import { once } from "node:events";
import { Code, ConnectError } from "@connectrpc/connect";
import { beforeAll, describe, expect, it } from "vitest";
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

it.each(["application/grpc+json", "application/grpc-web+json"])(
  "%s with a character outside the BMP where none belongs is refused with a message that can be sent",
  async (type) => {
    const chunks = [frame(Buffer.from("\u{1f600}"))];
    for (const path of [undefined, "/grpc.health.v1.Health/Watch"]) {
      const { trailers, body } = await sendHttp2(ours, { rpc: "Get", path, type, chunks }, "emoji");
      const text = `${JSON.stringify(trailers)} ${body.toString("latin1")}`;
      expect(text).toMatch(/grpc-status(?:":"|: )3/);
      expect(text).toContain("JSON");
    }
  },
);

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

it("an unknown failure before a call is logged", async () => {
  const ask = { rpc: "Write", type: "application/proto", headers: { authorization: "Bearer broken" } };
  const answer = await sendHttp1(ours, ask, "broken");
  expect([answer.status, answer.body.toString().includes("hunter2")]).toEqual([500, false]);
  const lines = ours.log.filter(({ reqId, level }) => reqId === "broken" && level === 50);
  expect(lines).toMatchObject([{ err: { message: "the secret is hunter2" } }]);
});

it.each([
  [sendHttp2, "application/grpc", [frame(good)]],
  [sendHttp2, "application/proto", [good]],
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
