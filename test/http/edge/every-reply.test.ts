// What every reply has in common, whatever serves it: header fields, one line in the log, and a count of its operation.
import { once } from "node:events";
import { connect } from "node:net";
import { beforeAll, describe, expect, it } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import { type FixtureServer, startFixtureServer } from "../../support/fixture-server.ts";
import { type Service, startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";
import { exchangeBytes, exchangeHttp1, exchangeHttp2, openSession, type Reply } from "../recorded/exchange.ts";
import { frame } from "../recorded/rpc-cases.ts";

interface Ask {
  method?: string;
  target: string;
  headers?: readonly (readonly [string, string])[];
  body?: Buffer;
}

const get = (target: string, more: Partial<Ask> = {}): Ask => ({ target, ...more });
const post = (target: string, type: string, body?: Buffer): Ask => ({
  method: "POST",
  target,
  headers: [["content-type", type]],
  ...(body === undefined ? {} : { body }),
});
/** The message of a request whose first field is the number 1. */
const one = Buffer.from([0x08, 0x01]);
const json = "application/json";
const getPost = "/stoa.v1.PostService/GetPost";
const receipts = "/stoa.v1.LedgerService/StreamReceipts";
/** A stream over REST, which ends with the receipt that there is. */
const stream = "/api/v1/house/receipts/stream?from=1&to=1";

/** What is asked, the status and the code in the log, and how the request is counted: each way by which a reply is made. */
const kinds: [what: string, ask: Ask, status: number, code?: string | undefined, counted?: [string, string, string]][] =
  [
    ["a read", get("/api/v1/posts/1"), 200, undefined, ["GetPost", "rest", "ok"]],
    ["a HEAD", get("/api/v1/posts/1", { method: "HEAD" }), 200, undefined, ["GetPost", "rest", "ok"]],
    ["a read of nothing", get("/api/v1/posts/99"), 404, "not_found", ["GetPost", "rest", "not_found"]],
    ["a preflight", get("/api/v1/posts/1", { method: "OPTIONS" }), 204],
    [
      "a write without a key",
      post("/api/v1/posts", json, Buffer.from("{}")),
      401,
      "unauthorized",
      ["CreatePost", "rest", "unauthorized"],
    ],
    [
      "a body that is too large",
      post("/api/v1/agents/register", json, Buffer.alloc(262_145, " ")),
      413,
      "too_large",
      ["RegisterAgent", "rest", "too_large"],
    ],
    ["a page", get("/"), 200],
    ["a page of nothing", get("/posts/99", { headers: [["accept", "text/html"]] }), 404, "not_found"],
    ["a style sheet", get("/favicon.svg"), 200],
    ["a document", get("/llms.txt"), 200],
    ["health", get("/healthz"), 200],
    ["a message of MCP that is none", post("/mcp", json, Buffer.from("{")), 400],
    ["an address with nothing", get("/nothing"), 404, "not_found"],
    ["a method that a router does not know", get("/", { method: "QUERY" }), 404, "not_found"],
    ["a broken percent-encoding", get("/%zz/x"), 404, "not_found"],
    ["unary gRPC", post(getPost, "application/grpc", frame(one)), 200, "ok", ["GetPost", "grpc", "ok"]],
    ["unary gRPC-Web", post(getPost, "application/grpc-web", frame(one)), 200, "ok", ["GetPost", "grpc-web", "ok"]],
    ["unary Connect", post(getPost, "application/proto", one), 200, "ok", ["GetPost", "connect", "ok"]],
    [
      "a unary call that fails",
      post(getPost, json, Buffer.from('{"id":"99"}')),
      404,
      "not_found",
      ["GetPost", "connect", "not_found"],
    ],
    ["a wrong type at an RPC", post(getPost, "text/xml", one), 415, undefined, ["GetPost", "connect", "refused"]],
    [
      "a wrong type at a stream of an RPC",
      post(receipts, "text/xml", one),
      415,
      undefined,
      ["StreamReceipts", "connect", "refused"],
    ],
    ["an unknown RPC", post("/stoa.v1.PostService/X", "application/grpc"), 200, "not_found"],
    ["a stream", get(stream), 200, undefined, ["StreamReceipts", "rest", "ok"]],
    ["a stream that begins nowhere", get("/api/v1/house/receipts/stream?from=x"), 400, "bad_input"],
  ];

let service: Service;

beforeAll(async () => {
  const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
  service = await startService({ config: { siteUrl: "https://stoa.example", metrics } });
  const { key } = await service.register();
  await service.rest("posts", { key, body: { title: "A post" } });
});

async function countOf([operation, protocol, code]: [string, string, string]): Promise<number> {
  const text = await (await fetch(service.app.metricsUrl as string)).text();
  const name = `stoa_requests_total{operation="${operation}",protocol="${protocol}",code="${code}"} `;
  return Number(
    text
      .split("\n")
      .find((line) => line.startsWith(name))
      ?.slice(name.length) ?? 0,
  );
}

function fieldsOf({ headers }: Reply): Record<string, string> {
  return Object.fromEntries(headers.map(([name, value]) => [name.toLowerCase(), value]));
}

async function lineOf(isOfAsk: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>> {
  const lines = () => service.log.filter((line) => line.msg === "request" && isOfAsk(line));
  await waitUntil("the line of the request", () => lines().length > 0);
  expect(lines()).toHaveLength(1);
  return lines()[0] as Record<string, unknown>;
}

const send = {
  "HTTP/1.1": (url: string, ask: Parameters<typeof exchangeHttp1>[1]) => exchangeHttp1(url, ask),
  "HTTP/2": async (url: string, ask: Parameters<typeof exchangeHttp1>[1]) => {
    const session = openSession(url);
    try {
      return await exchangeHttp2(session, ask);
    } finally {
      session.destroy();
    }
  },
};

const asked = kinds.flatMap(([what, ask, status, code, counted]) =>
  (["HTTP/1.1", "HTTP/2"] as const).map((version) => ({ what, version, ask, status, code, counted })),
);

it.each(asked)("$what over $version", async ({ what, version, ask, status, code, counted }) => {
  const { method = "GET", target, headers = [], body } = ask;
  const id = `${what}/${version}`.replaceAll(" ", "-");
  const before = counted && (await countOf(counted));
  const sent = [...headers, ["x-request-id", id], ["user-agent", "the-test"]] as const;
  const length =
    version === "HTTP/1.1" && body !== undefined ? ([["content-length", String(body.length)]] as const) : [];
  const reply = (await send[version](service.url, { method, target, headers: [...sent, ...length], body })) as Reply;
  expect(reply.status).toBe(status);
  expect(fieldsOf(reply)).toMatchObject({
    "x-request-id": id,
    "strict-transport-security": "max-age=31536000",
    "x-content-type-options": "nosniff",
    date: expect.stringMatching(/ GMT$/),
  });
  const line = await lineOf(({ reqId }) => reqId === id);
  expect(line).toMatchObject({ method, status, address: "127.0.0.1", userAgent: "the-test", ms: expect.any(Number) });
  expect(line.code).toBe(code);
  expect(line.operation).toBe(counted?.[0] ?? line.operation);
  if (counted !== undefined) expect(await countOf(counted)).toBe((before as number) + 1);
});

it.each([
  ["what is no HTTP", "hello\r\n\r\n", 400, "bad_input"],
  [
    "too many fields",
    `GET / HTTP/1.1\r\nHost: a\r\n${Array.from({ length: 200 }, (_, i) => `a${i}: b\r\n`).join("")}\r\n`,
    431,
    "bad_input",
  ],
])("%s", async (_what, bytes, status, code) => {
  const reply = (await exchangeBytes(service.url, Buffer.from(bytes))) as Reply;
  expect(reply.status).toBe(status);
  const fields = fieldsOf(reply);
  expect(fields).toMatchObject({
    "strict-transport-security": "max-age=31536000",
    "x-content-type-options": "nosniff",
    date: expect.any(String),
  });
  const line = await lineOf(({ reqId }) => reqId === fields["x-request-id"]);
  expect(line).toMatchObject({ status, code, address: "127.0.0.1" });
});

it("a connection over the limit", async () => {
  const { url, log } = await startService({ config: { siteUrl: "https://stoa.example", maxConnections: 1 } });
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

const echo = "/fixture.v1.EchoService";
const health = "/grpc.health.v1.Health/Watch";
const refusals: [what: string, ask: Ask, status: number][] = [
  ["a read", get("/v1/things/one"), 503],
  ["health", get("/healthz"), 503],
  ["an address with nothing", get("/nothing"), 503],
  ["a unary call of gRPC", post(`${echo}/Get`, "application/grpc", frame(one)), 200],
  ["a unary call of Connect", post(`${echo}/Get`, "application/proto", one), 503],
  ["a stream of gRPC-Web", post(health, "application/grpc-web+proto", frame(one)), 200],
  ["a stream of Connect", post(health, "application/connect+proto", frame(one)), 200],
];

describe("a service that is stopping refuses", () => {
  let stopping: FixtureServer;
  beforeAll(async () => {
    stopping = await startFixtureServer();
    stopping.beginStop();
  });

  const asked = refusals.flatMap(([what, ask, status]) =>
    (["HTTP/1.1", "HTTP/2"] as const).map((version) => ({ what, version, ask, status })),
  );
  it.each(asked)("$what over $version", async ({ what, version, ask, status }) => {
    const { method = "GET", target, headers = [], body } = ask;
    const id = `stop/${what}/${version}`.replaceAll(" ", "-");
    const length: [string, string][] = version === "HTTP/1.1" && body ? [["content-length", String(body.length)]] : [];
    const sent = [...headers, ...length, ["x-request-id", id]] as const;
    const reply = (await send[version](stopping.url, { method, target, headers: sent, body })) as Reply;
    expect(reply.status).toBe(status);
    expect(fieldsOf(reply)).toMatchObject({ "x-request-id": id, date: expect.stringMatching(/ GMT$/) });
    expect(`${JSON.stringify(reply.headers)} ${JSON.stringify(reply.trailers ?? [])} ${reply.body}`).toContain(
      "The service is stopping.",
    );
    const lines = () => stopping.log.filter(({ reqId, msg }) => reqId === id && msg === "request");
    await waitUntil("the line of the request", () => lines().length > 0);
    expect(lines()).toMatchObject([{ method, status, code: "unavailable" }]);
  });
});

it.each([
  ["gRPC-Web", "application/grpc-web+proto", frame(Buffer.alloc(0))],
  ["Connect", "application/connect+json", frame(Buffer.from("{}"))],
])("a stream of %s over HTTP/1.0, which need not name a host", async (_protocol, contentType, body) => {
  const id = `hostless-${contentType}`;
  const head = `POST ${receipts} HTTP/1.0\r\nX-Request-Id: ${id}\r\nContent-Type: ${contentType}\r\n`;
  const bytes = Buffer.concat([Buffer.from(`${head}Content-Length: ${body.length}\r\n\r\n`), body]);
  const reply = (await exchangeBytes(service.url, bytes)) as Reply;
  expect(`${JSON.stringify(fieldsOf(reply))} ${reply.body}`).toContain("The Host header is missing");
  const line = await lineOf(({ reqId }) => reqId === id);
  expect(line).toMatchObject({ status: 200, code: "bad_input", operation: "StreamReceipts" });
});
