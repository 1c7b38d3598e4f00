// What replies have in common that are made before or beside a handler: header fields, and one line in the log. Of all other
// replies, the recorded ones show it.
import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { type FixtureServer, startFixtureServer } from "../../support/fixture-server.ts";
import { startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";
import type { Case } from "../recorded/cases.ts";
import {
  exchangeBytes,
  exchangeHttp1,
  exchangeHttp2,
  openSession,
  type Reply,
  type Request,
} from "../recorded/exchange.ts";
import { withLength } from "../recorded/recording.ts";
import { frame } from "../recorded/rpc-cases.ts";

function fieldsOf({ headers }: Reply): Record<string, string> {
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

const service = await startService();

it("a connection over the limit", async () => {
  const config = { siteUrl: "https://stoa.example", maxConnections: 1 };
  const { url, log } = await startService({ db: service.db, config });
  const first = connect(Number(new URL(url).port), "127.0.0.1").on("error", () => {});
  afterTest(() => first.destroy());
  // An idle connection would give its place to the next one.
  first.write("GET /api/v1/house/receipts/stream?follow=true HTTP/1.1\r\nHost: a\r\n\r\n");
  await once(first, "data");
  const reply = (await exchangeBytes(url, Buffer.alloc(0))) as Reply;
  expect(reply.status).toBe(429);
  const fields = fieldsOf(reply);
  expect(fields).toMatchObject({
    "strict-transport-security": "max-age=31536000",
    "x-content-type-options": "nosniff",
    date: expect.any(String),
    "retry-after": "1",
  });
  const lines = () => log.filter(({ reqId }) => reqId === fields["x-request-id"]);
  await waitUntil("the line of the request", () => lines().length > 0);
  expect(lines()).toMatchObject([{ msg: "request", status: 429, code: "rate_limited", address: "127.0.0.1" }]);
});

it.each([
  ["an unknown expectation", { ":path": "/healthz", expect: "200-ok" }, 200],
  ["CONNECT", { ":method": "CONNECT", ":authority": "stoa.example:443" }, 404],
])("%s over HTTP/2, which Node could answer by itself", async (_, head, status) => {
  const { url, log } = service;
  const session = openSession(url);
  afterTest(() => session.destroy());
  const [reply] = await once(session.request(head, { endStream: true }), "response");
  expect(reply).toMatchObject({ ":status": status, "x-content-type-options": "nosniff" });
  const lines = () => log.filter(({ reqId }) => reqId === reply["x-request-id"]);
  await waitUntil("the line of the request", () => lines().length > 0);
  expect(lines()).toMatchObject([{ msg: "request", status }]);
});

const get = (name: string, target: string): Case => ({ name, method: "GET", target });
const post = (name: string, target: string, type: string, body: Buffer): Case => {
  return { name, method: "POST", target, headers: [["content-type", type]], body };
};
/** The message of a request whose first field is the number 1. */
const one = Buffer.from([0x08, 0x01]);
const echo = "/fixture.v1.EchoService/Get";
const health = "/grpc.health.v1.Health/Watch";

describe("a service that is stopping refuses", () => {
  let stopping: FixtureServer;
  beforeAll(async () => {
    stopping = await startFixtureServer();
    stopping.beginStop();
  });

  const overHttp2 = async (request: Request) => {
    const session = openSession(stopping.url);
    afterTest(() => session.destroy());
    return exchangeHttp2(session, request);
  };
  it.each<[ask: Case, status: number]>([
    [get("a read", "/v1/things/one"), 503],
    [get("health", "/healthz"), 503],
    [get("an address with nothing", "/nothing"), 503],
    [post("a unary call of gRPC", echo, "application/grpc", frame(one)), 200],
    [post("a unary call of Connect", echo, "application/proto", one), 503],
    [post("a stream of gRPC-Web", health, "application/grpc-web+proto", frame(one)), 200],
    [post("gRPC-Web in capitals", health, "Application/gRPC-Web+Proto", frame(one)), 200],
    [post("a stream of Connect", health, "application/connect+proto", frame(one)), 200],
  ])("$0.name", async ({ name, headers = [], ...ask }, status) => {
    for (const exchange of [withLength((request) => exchangeHttp1(stopping.url, request)), overHttp2]) {
      const id = `${name}/${exchange === overHttp2 ? 2 : 1}`.replaceAll(" ", "-");
      const reply = (await exchange({ ...ask, headers: [...headers, ["x-request-id", id]] })) as Reply;
      expect(reply.status).toBe(status);
      expect(fieldsOf(reply)).toMatchObject({ "x-request-id": id, date: expect.stringMatching(/ GMT$/) });
      const { headers: head, trailers, body } = reply;
      expect(`${JSON.stringify([head, trailers])} ${body}`).toContain("The service is stopping.");
      const lines = () => stopping.log.filter(({ reqId, msg }) => reqId === id && msg === "request");
      await waitUntil("the line of the request", () => lines().length > 0);
      expect(lines()).toMatchObject([{ method: ask.method, status, code: "unavailable" }]);
    }
  });
});
