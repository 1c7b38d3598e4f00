import { once } from "node:events";
import http2 from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { afterEach, describe, expect, it } from "vitest";
import type { HttpRequest, HttpResponse } from "../../../src/calls/http-messages.ts";
import { Port } from "../../../src/http/port/port.ts";
import type { RequestHandlers } from "../../../src/http/port/request-handlers.ts";
import { waitUntil } from "../../support/wait.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** Serves by these handlers, and connects to them. */
async function connect(handlers: Partial<RequestHandlers>): Promise<http2.ClientHttp2Session> {
  const port = new Port({
    headersTimeoutMs: 60_000,
    requestTimeoutMs: 60_000,
    idleTimeoutMs: 60_000,
    drainTimeoutMs: 1_000,
  });
  const take = () => false;
  const handle = () => expect.fail("Nothing is left to others here.");
  const server = port.createServer({ take, handle, ...handlers }).listen(0, "127.0.0.1");
  cleanUps.push(() => port.drained());
  await once(server, "listening");
  const session = http2.connect(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  cleanUps.push(() => session.destroy());
  return session;
}

async function receive(stream: http2.ClientHttp2Stream) {
  const trailers = once(stream, "trailers").then(([fields]) => fields["grpc-status"]);
  const [head] = await once(stream, "response");
  return {
    head,
    body: await text(stream),
    trailers: head["content-type"] === "text/grpc" ? await trailers : undefined,
  };
}

/** Takes every request. @returns them, with their responses */
function takeAll(): [RequestHandlers["take"], { request: HttpRequest; response: HttpResponse }[]] {
  const taken: { request: HttpRequest; response: HttpResponse }[] = [];
  return [(request, response) => taken.push({ request, response }) > 0, taken];
}

describe("a request that is taken", () => {
  it("has what Node's own has", async () => {
    const [take, taken] = takeAll();
    const stream = (await connect({ take })).request({
      ":path": "/a?b=c",
      ":method": "POST",
      "content-type": "application/grpc", // so that it comes before its body
      x: "y",
    });
    await waitUntil("the request", () => taken.length > 0, 5_000);
    const { request, response } = taken[0] as (typeof taken)[0];
    const own = new http2.Http2ServerRequest(request.stream as never, request.headers as never, {}, request.rawHeaders);
    for (const name of ["method", "url", "httpVersion", "httpVersionMajor", "aborted", "complete"] as const)
      expect([name, request[name]]).toEqual([name, own[name]]);
    expect(request).toMatchObject({ method: "POST", url: "/a?b=c", httpVersion: "2.0", complete: false });
    expect(request.headers.x).toBe("y");
    expect(request.socket?.remoteAddress).toBe("127.0.0.1");
    stream.end("all of it");
    expect(await text(request.stream as never)).toBe("all of it");
    await waitUntil("the end of the body", () => request.complete, 5_000);
    response.writeHead(200, {});
    response.end();
  });

  it("gets the head, the body and the trailers of its response", async () => {
    const [take, taken] = takeAll();
    const session = await connect({ take });
    const received = receive(session.request({ ":path": "/" }));
    await waitUntil("the request", () => taken.length > 0, 5_000);
    const { response } = taken[0] as (typeof taken)[0];
    let ended = 0;
    response.prependOnceListener("close", () => (ended += 1));
    response.setHeader("traceparent", "t");
    expect([response.getHeaders(), response.headersSent]).toEqual([{ traceparent: "t" }, false]);
    response.addTrailers({ "grpc-status": "7" });
    response.writeHead(203, { ...(response.getHeaders() as object), "content-type": "text/grpc" });
    expect([response.headersSent, response.statusCode, response.getHeader("content-type")]).toEqual([
      true,
      203,
      "text/grpc",
    ]);
    expect(response.write(Buffer.from("one, "))).toBe(true);
    response.end(Buffer.from("two"));
    const { head, body, trailers } = await received;
    expect([head[":status"], head.traceparent, body, trailers]).toEqual([203, "t", "one, two", "7"]);
    await waitUntil("the end", () => ended > 0, 5_000);
    expect([ended, response.writableFinished, response.destroyed]).toEqual([1, true, true]);
  });

  it.each([
    ["short", 10],
    ["long", 300_000],
  ])("that has been read knows that its %s response was sent", async (_name, length) => {
    const [take, taken] = takeAll();
    const stream = (await connect({ take })).request({ ":path": "/", ":method": "POST" });
    const received = receive(stream);
    stream.end("all of it");
    await waitUntil("the request", () => taken.length > 0, 5_000);
    const { request, response } = taken[0] as (typeof taken)[0];
    const ended = new Promise<void>((resolve) => response.prependOnceListener("close", resolve));
    expect(await text(request.stream as never)).toBe("all of it");
    response.writeHead(200, {});
    response.end(Buffer.alloc(length, "x"));
    expect((await received).body.length).toBe(length);
    await ended;
    expect([response.writableFinished, request.aborted]).toEqual([true, false]);
  });

  it("learns that its client has left", async () => {
    const [take, taken] = takeAll();
    const session = await connect({ take });
    const stream = session.request({ ":path": "/" });
    await waitUntil("the request", () => taken.length > 0, 5_000);
    const { request, response } = taken[0] as (typeof taken)[0];
    const left = Promise.withResolvers<void>();
    response.prependOnceListener("close", left.resolve);
    stream.close(http2.constants.NGHTTP2_CANCEL);
    await left.promise;
    expect([request.aborted, response.destroyed]).toEqual([true, true]);
    session.destroy();
    await waitUntil("the end of the session", () => request.socket === undefined, 5_000);
  });

  it("may end without a body", async () => {
    const [take, taken] = takeAll();
    const received = receive((await connect({ take })).request({ ":path": "/" }));
    await waitUntil("the request", () => taken.length > 0, 5_000);
    taken[0]?.response.writeHead(304, { etag: '"e"' });
    taken[0]?.response.end();
    const { head, body } = await received;
    expect([head[":status"], head.etag, body]).toEqual([304, '"e"', ""]);
  });
});

describe("a request that is left to others", () => {
  it("comes to them with Node's own objects, and with its whole body", async () => {
    const taken: boolean[] = [];
    const session = await connect({
      take: (request) => taken.push(request instanceof http2.Http2ServerRequest) < 0,
      handle: (request, response) => void text(request).then((body) => response.end(`${request.url} ${body}`)),
    });
    const stream = session.request({ ":path": "/left", ":method": "POST" });
    stream.end("body");
    expect((await receive(stream)).body).toBe("/left body");
    expect(taken).toEqual([false]);
  });

  it("is told to go on before it is taken, if it asks", async () => {
    const session = await connect({
      handle: (request, response) => void text(request).then((body) => response.end(body)),
    });
    const stream = session.request({ ":path": "/", ":method": "POST", expect: "100-continue" });
    stream.once("continue", () => stream.end("now"));
    expect((await receive(stream)).body).toBe("now");
  });

  it("is refused with 405 if it is a CONNECT", async () => {
    const session = await connect({});
    const { head } = await receive(session.request({ ":method": "CONNECT", ":authority": "example.com" }));
    expect(head[":status"]).toBe(405);
  });
});
