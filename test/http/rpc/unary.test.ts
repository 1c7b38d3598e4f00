// Unary calls of the fixture in each protocol. What our handlers answer was recorded when Connect's own gave the same.
import { once } from "node:events";
import { expect, it } from "vitest";
import { startFixtureServer } from "../../support/fixture-server.ts";
import { exchangeHttp1, exchangeHttp2, openSession, type Request } from "../recorded/exchange.ts";
import { compare, record, withLength } from "../recorded/recording.ts";
import { frame } from "../recorded/rpc-cases.ts";
import { unaryCases } from "./cases.ts";

const server = await startFixtureServer();

it("over HTTP/1.1, replies are as recorded", async () => {
  const exchange = (request: Request) => exchangeHttp1(server.url, request);
  const isChunked = ({ headers }: Request) => headers.some(([name]) => name === "transfer-encoding");
  const send = (request: Request) => (isChunked(request) ? exchange : withLength(exchange))(request);
  compare("unary-http1", await record(unaryCases("1.1"), new Map(), send, server.log));
});

it("over HTTP/2, replies are as recorded", async () => {
  const session = openSession(server.url);
  const send = (request: Request) => exchangeHttp2(session, request);
  compare("unary-http2", await record(unaryCases("2"), new Map(), send, server.log));
  session.destroy();
});

it("the end of a stream's requests is not decompressed", async () => {
  const session = openSession(server.url);
  const headers = { "content-type": "application/connect+json", "connect-content-encoding": "gzip" };
  const stream = session.request({ ":method": "POST", ":path": "/grpc.health.v1.Health/Watch", ...headers });
  stream.end(Buffer.concat([frame("{}"), frame("no gzip", 3)]));
  const [first] = await once(stream, "data");
  expect(String(first)).toContain("SERVING");
  session.destroy();
});

it("an unknown failure before a call is logged, and the reply does not tell of it", async () => {
  const headers = [
    ["content-type", "application/proto"],
    ["authorization", "Bearer broken"],
    ["x-request-id", "broken"],
  ] as const;
  const ask = { method: "POST", target: "/fixture.v1.EchoService/Write", headers, body: Buffer.alloc(0) };
  const reply = await withLength((request) => exchangeHttp1(server.url, request))(ask);
  expect([reply?.status, reply?.body.toString().includes("hunter2")]).toEqual([500, false]);
  const lines = server.log.filter(({ reqId, level }) => reqId === "broken" && level === 50);
  expect(lines).toMatchObject([{ err: { message: "the secret is hunter2" } }]);
});
