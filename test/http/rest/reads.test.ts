// Reads of the facade as bytes, over both versions of HTTP.
import { once } from "node:events";
import http, { type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import http2 from "node:http2";
import { buffer } from "node:stream/consumers";
import { brotliDecompressSync, gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { type FixtureServer, startFixtureServer } from "../../support/fixture-server.ts";
import { recordingIn } from "../../support/recording.ts";
import { waitUntil } from "../../support/wait.ts";

let server: FixtureServer;

beforeAll(async () => {
  server = await startFixtureServer();
});

const compareWith = recordingIn(new URL("reads.json", import.meta.url));

interface Ask {
  path: string;
  method?: string;
  headers?: OutgoingHttpHeaders;
  body?: string;
}

interface Answer {
  status: number | undefined;
  headers: Record<string, unknown>;
  body: string;
}

type Send = (server: FixtureServer, ask: Ask) => Promise<Answer>;

async function sendHttp1({ port }: FixtureServer, { path, method, headers, body }: Ask): Promise<Answer> {
  const request = http.request({ host: "127.0.0.1", port, path, method, headers, agent: false }).end(body);
  const [response] = (await once(request, "response")) as [IncomingMessage];
  return answerOf(response.statusCode, response.headers, await buffer(response));
}

async function sendHttp2({ url }: FixtureServer, { path, method = "GET", headers, body }: Ask): Promise<Answer> {
  const session = http2.connect(url);
  onTestFinished(() => session.destroy());
  const head = { ":path": path, ":method": method, ...(headers as http2.OutgoingHttpHeaders) };
  const stream = session.request(head, { endStream: body === undefined });
  if (body !== undefined) stream.end(body);
  const [fields] = (await once(stream, "response")) as [http2.IncomingHttpHeaders];
  return answerOf(Number(fields[":status"]), fields, await buffer(stream));
}

function answerOf(status: number | undefined, { date, ...headers }: Record<string, unknown>, bytes: Buffer): Answer {
  expect(date, "the date").toBeDefined();
  const encoding = headers["content-encoding"];
  const plain = encoding === "br" ? brotliDecompressSync(bytes) : encoding === "gzip" ? gunzipSync(bytes) : bytes;
  // A compressed reply of medium size has its length only where it is compressed as a whole.
  if (encoding !== undefined) for (const name of ["content-length", "transfer-encoding"]) delete headers[name];
  return { status, headers, body: plain.toString() };
}

let asked = 0;

/** Sends a request and compares what comes back, and what the log says, with the recording. @param name tells it apart */
async function answerTo(name: string, send: Send, ask: Ask): Promise<Answer> {
  asked += 1;
  const id = `read-${asked}`;
  const answer = await send(server, { ...ask, headers: { "x-request-id": id, ...ask.headers } });
  const isOfAsk = ({ reqId, msg }: Record<string, unknown>) => reqId === id && msg === "request";
  await waitUntil("the line of the request", () => server.log.some(isOfAsk));
  const { code, operation, route, path, status, method } = server.log.find(isOfAsk) as Record<string, unknown>;
  const { "x-request-id": sentId, ...headers } = answer.headers;
  expect(sentId).toBe(id);
  const noted = { code, operation, route, path, status, method };
  compareWith(`${name}: ${send.name}`, { ...answer, headers, noted });
  return answer;
}

const long = `/v1/things/${"long%20".repeat(300)}`;

const asks: [what: string, status: number, ask: Ask][] = [
  ["a read", 200, { path: "/v1/things/one" }],
  ["a read with a query", 200, { path: "/v1/things?name=one&number=7" }],
  ["a read by its second address", 200, { path: "/v1/all/one/things" }],
  ["a read of several segments", 200, { path: "/v1/files/a/b%2Fc" }],
  ["an unknown parameter", 200, { path: "/v1/things/one?nothing=1" }],
  ["a parameter that is in the path", 200, { path: "/v1/things/one?name=two" }],
  ["a bad parameter", 400, { path: "/v1/things?number=seven" }],
  ["a broken percent-encoding", 400, { path: "/v1/things/%zz" }],
  ["a broken percent-encoding in the query", 400, { path: "/v1/things?name=%zz" }],
  ["another type in the path", 400, { path: "/v1/typed/x/y/z" }],
  ["bytes", 200, { path: "/v1/raw/one" }],
  ["bytes without a type", 200, { path: "/v1/raw/plain" }],
  ["a part of the response", 200, { path: "/v1/wrapped/one" }],
  ["a failure with a field", 404, { path: "/v1/fail/missing" }],
  ["a failure with a time to wait", 503, { path: "/v1/fail/unavailable" }],
  ["an unknown failure", 500, { path: "/v1/fail/other" }],
  ["a response that cannot be written", 500, { path: "/v1/fail/unwritable" }],
  ["nothing as a failure", 500, { path: "/v1/fail/nothing" }],
  ["an address without anything", 404, { path: "/v1/nothing" }],
  ["a slash at the end", 404, { path: "/v1/things/" }],
  ["two slashes", 404, { path: "//v1/things" }],
  ["a wrong method", 404, { path: "/v1/raw/one", method: "POST" }],
  ["a HEAD", 200, { path: "/v1/things/one", method: "HEAD" }],
  ["a preflight", 204, { path: "/v1/things/one", method: "OPTIONS" }],
  ["a body", 200, { path: "/v1/things/one", headers: { "content-type": "text/plain" }, body: '{"note":"no"}' }],
  ["a body over two lengths", 200, { path: "/v1/things/one", headers: { "content-length": 2 }, body: "{}" }],
  ["a long response", 200, { path: long }],
  ["a long response in gzip", 200, { path: long, headers: { "accept-encoding": "gzip" } }],
  ["a long response in gzip rather than Brotli", 200, { path: long, headers: { "accept-encoding": "gzip, br;q=0.1" } }],
  ["a long response in any encoding", 200, { path: long, headers: { "accept-encoding": "*" } }],
  ["a long response in an old encoding", 200, { path: long, headers: { "accept-encoding": "deflate, x-gzip" } }],
  ["a long response in Brotli", 200, { path: long, headers: { "accept-encoding": "gzip, br" } }],
  ["a long response in no encoding of ours", 200, { path: long, headers: { "accept-encoding": "zstd;q=1" } }],
  ["a long response that must not change", 200, { path: long, headers: { "accept-encoding": "br;q=0" } }],
  ["a client that waits to be told to go on", 200, { path: "/v1/things/one", headers: { expect: "100-continue" } }],
  ["a page of another site", 200, { path: "/v1/things/one", headers: { origin: "https://elsewhere.example" } }],
];

describe.each([
  ["HTTP/1.1", sendHttp1],
  ["HTTP/2", sendHttp2],
] as const)("over %s", (_version, send) => {
  it.each(asks)("%s gives %i", async (what, status, ask) => {
    // The second time, the address is known.
    for (let i = 0; i < 2; i++) expect((await answerTo(what, send, ask)).status).toBe(status);
  });

  it("a client that has the response gets 304", async () => {
    const path = "/v1/things/tagged";
    const { headers, body } = await answerTo("a tagged read", send, { path });
    expect(body).not.toBe("");
    const tag = headers.etag as string;
    for (const known of [tag, `"other", ${tag}`, "*"]) {
      const answer = await answerTo("a known read", send, { path, headers: { "if-none-match": known } });
      expect([answer.status, answer.body, answer.headers.etag]).toEqual([304, "", tag]);
    }
    const other = { path, headers: { "if-none-match": '"other"' } };
    expect((await answerTo("another tag", send, other)).status).toBe(200);
  });
});

it("requests are refused in the manner of their protocols once a stop has begun", async () => {
  const rpc = "/fixture.v1.EchoService/Get";
  const headers = { "content-type": "application/json", "x-request-id": "late" };
  const all: Ask[] = [
    { path: "/v1/things/one", headers },
    { path: rpc, method: "POST", headers, body: "{}" },
  ];
  const stopping = await startFixtureServer();
  stopping.beginStop();
  const answers = await Promise.all(all.flatMap((ask) => [sendHttp1(stopping, ask), sendHttp2(stopping, ask)]));
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 503]);
  expect(answers.map(({ body }) => JSON.parse(body))).toMatchObject([
    { ok: false, error: "unavailable" },
    { ok: false, error: "unavailable" },
    { code: "unavailable" },
    { code: "unavailable" },
  ]);
  for (const { headers } of answers) {
    expect(headers).toMatchObject({ "x-request-id": "late", "retry-after": "1" });
  }
  const lines = stopping.log.filter(({ msg }) => msg === "request");
  expect(lines).toHaveLength(4);
  for (const line of lines) expect(line).toMatchObject({ reqId: "late", status: 503, code: "unavailable" });
});

it.each([
  ["two hosts", ["Host", "a.example", "Host", "b.example"]],
  ["a malformed host", ["Host", "a b"]],
  ["no host", []],
])("a request with %s is refused", async (_what, headers) => {
  const { port } = server;
  const options = { host: "127.0.0.1", port, path: "/v1/things/one", setHost: false, agent: false };
  const request = http.request({ ...options, headers }).end();
  const [response] = (await once(request, "response")) as [IncomingMessage];
  expect(response.headers).toMatchObject({ date: expect.any(String), "x-request-id": expect.any(String) });
  expect([response.statusCode, JSON.parse(String(await buffer(response))).error]).toEqual([400, "bad_input"]);
});

it.each([
  ["goes on", undefined],
  ["fails", "canceled"],
])("a client that leaves aborts its read, which %s: the code in the log is %s", async (name, code) => {
  const waits = server.nextWait();
  const id = `leaves-${name}`.replace(" ", "-");
  const path = `/v1/wait?name=${encodeURIComponent(name)}`;
  const headers = { "x-request-id": id };
  const request = http.get({ host: "127.0.0.1", port: server.port, path, headers, agent: false });
  request.on("error", () => {});
  const { signal } = await waits;
  request.destroy();
  await waitUntil("the end of the call", () => signal.aborted);
  const isOfAsk = ({ reqId, msg }: Record<string, unknown>) => reqId === id && msg === "request aborted";
  await waitUntil("the line of the request", () => server.log.some(isOfAsk));
  const line = server.log.find(isOfAsk);
  expect([line?.operation, line?.route, line?.code]).toEqual(["Wait", "/v1/wait", code]);
});
