// However a stream ends, its place is free again.
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import http, { type IncomingMessage, type ServerResponse } from "node:http";
import { type ClientHttp2Session, type ClientHttp2Stream, connect, constants } from "node:http2";
import { connect as connectSocket } from "node:net";
import { describe, expect, it, vi } from "vitest";
import { drain, type Form, forms, receive } from "../../ledger/reading/followers.ts";
import { fill } from "../../ledger/support.ts";
import { afterFile } from "../../support/after-file.ts";
import { afterTest } from "../../support/after-test.ts";
import { createDatabaseWithSchema } from "../../support/database.ts";
import { createLinkedDatabase } from "../../support/database-link.ts";
import { collectTimers, type EarlyTimer } from "../../support/early-timers.ts";
import { envelope } from "../../support/http2-frames.ts";
import { waitUntil } from "../../support/wait.ts";
import { type Kind, kinds, type Opened, openStream, type Streaming, startStreaming } from "./support.ts";

const restPath = "/api/v1/house/receipts/stream";
const rpcPath = "/stoa.v1.LedgerService/StreamReceipts";

/** The maximum duration of the streams of `service`, in milliseconds. */
const maxMs = 7_200_000;
const starting = startStreaming({ maxMs });
/** Has more receipts than the buffers of a connection hold. */
const full = await createDatabaseWithSchema();
/** Serves them, for longer than a test takes. */
const unlimited = await startStreaming({}, { db: full });
// The tests share a service, and leave no stream open there.
const [service] = await Promise.all([starting, fill(full, 240, 50_000)]);

interface Unread {
  session: ClientHttp2Session;
  stream: ClientHttp2Stream;
  /** Resolves when the head of the response has come. */
  begun: Promise<unknown>;
}

/** Begins an HTTP/2 request of a stream and does not read what comes. */
function beginUnread(url: string, path: string): Unread {
  const session = connect(url, { settings: { initialWindowSize: 0 } });
  session.on("error", () => {});
  const isRpc = path === rpcPath;
  const stream = session.request({
    ":path": path,
    ":method": isRpc ? "POST" : "GET",
    ...(isRpc ? { "content-type": "application/grpc", te: "trailers" } : {}),
  });
  stream.on("error", () => {});
  // The empty message asks for all receipts.
  if (isRpc) stream.end(Buffer.alloc(5));
  return { session, stream, begun: new Promise((resolve) => stream.once("response", resolve)) };
}

/** Begins an HTTP/1.1 request of a stream and reads no more than the first of it. */
async function beginUnreadHttp1({ port }: Streaming) {
  const socket = connectSocket(port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(`GET ${restPath}?from=1 HTTP/1.1\r\nHost: stoa\r\n\r\n`);
  await new Promise((resolve) => socket.once("readable", resolve));
  return socket;
}

/** Watches the first reply of a service over a version of HTTP. @returns whether it has waited for its client in three looks */
function watchReplyTo({ port }: Streaming, version: string): () => boolean {
  let reply: ServerResponse | undefined;
  const onStart = (message: unknown) => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.socket.localPort === port && `HTTP/${request.httpVersion}` === version) reply ??= response;
  };
  subscribe("http.server.request.start", onStart);
  afterFile(() => void unsubscribe("http.server.request.start", onStart));
  let looks = 0;
  return () => {
    looks = reply !== undefined && reply.writableLength > 0 ? looks + 1 : 0;
    return looks >= 3;
  };
}

/** The timers that cut a stream whose end its client does not take. */
const cutsAmong = (timers: EarlyTimer[]) => timers.filter(({ ms }) => ms === 5_000);

it.each(kinds)("%s: a stream ends when its client leaves", async (kind: Kind) => {
  const stream = await openStream(service, kind);
  await service.untilOpen(1);
  stream.leave();
  await service.untilOpen(0);
});

// These have services of their own.
it.concurrent("streams of all kinds end with the service", async () => {
  const stopping = await startStreaming({}, { db: service.db, config: { drainTimeoutMs: 600_000 } });
  const streams = await Promise.all(kinds.map((kind) => openStream(stopping, kind)));
  const closed = stopping.app.close();
  const stopped = { code: "unavailable", message: "The service is stopping.", retryAfterSeconds: 1 };
  expect(await Promise.all(streams.map(({ ended }) => ended))).toMatchObject(kinds.map(() => stopped));
  for (const { leave } of streams) leave();
  await closed;
});

it.concurrent("streams of receipts in all forms fail with the database", async () => {
  const db = await createLinkedDatabase(service.db);
  const linked = await startStreaming({}, { db });
  const streams = forms.map((form) => receive(linked, form, { follow: true }));
  await Promise.all(streams.map((stream) => stream.next()));
  await linked.untilOpen(forms.length);
  await db.relay.close();
  const failures = await Promise.allSettled(streams.map(drain));
  const failed = { status: "rejected", reason: { code: expect.stringMatching(/^unavailable$/i) } };
  expect(failures).toMatchObject(forms.map(() => failed));
  await linked.untilOpen(0);
});

it("streams of all kinds end after their maximum duration and say how to continue", async () => {
  let streams: Opened[] = [];
  const timers = await collectTimers(async () => {
    streams = await Promise.all(kinds.map((kind) => openStream(service, kind)));
  });
  const ends = timers.filter(({ ms }) => ms > maxMs / 2 && ms <= maxMs);
  expect(ends).toHaveLength(kinds.length);
  for (const { ms } of ends) expect(ms).toBeGreaterThanOrEqual(0.9 * maxMs);
  const later = await collectTimers(() => {
    for (const { run } of ends) run();
  });
  const tooOld = {
    code: "unavailable",
    message: "A stream ends after 7200 s. Connect again, and start from the next seq or id.",
    retryAfterSeconds: 1,
  };
  expect(await Promise.all(streams.map(({ ended }) => ended))).toEqual(kinds.map(() => tooOld));
  // Clients that have not ended their side of the call keep their places until they are cut.
  for (const { run } of cutsAmong(later)) run();
  await service.untilOpen(0);
});

it("a client that reads nothing is cut some seconds after its stream should have ended", async () => {
  const use = { heapLive: 0, heapLimit: 100, resident: 0, external: 0 };
  const memory = { read: () => ({ ...use }), close() {} };
  const overload = { heapShare: 0.8, residentBytes: undefined };
  // The service looks at its memory when this test says so.
  vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
  afterTest(() => void vi.useRealTimers());
  const busy = await startStreaming({}, { db: full, config: { overload }, overrides: { memory } });
  const isStuck = watchReplyTo(busy, "HTTP/1.1");
  const unread = [restPath, rpcPath].map((path) => beginUnread(busy.url, path));
  const socket = await beginUnreadHttp1(busy);
  await Promise.all(unread.map((each) => each.begun));
  // If the buffers of the system held all that is sent, there would be nothing to cut.
  await waitUntil("full buffers", isStuck);
  const closed = unread.map(({ stream }) => new Promise((resolve) => stream.once("close", resolve)));
  // A lasting shortage of memory ends the streams.
  use.heapLive = 90;
  const timers = await collectTimers(() => vi.advanceTimersByTime(2_250));
  const cuts = cutsAmong(timers);
  expect(cuts).toHaveLength(3);
  expect((await busy.rest("posts")).status).toBe(503);
  expect(await busy.open()).toBe(3);
  for (const { run } of cuts) run();
  await Promise.all(closed);
  expect(unread.map(({ stream }) => stream.rstCode)).toEqual([constants.NGHTTP2_CANCEL, constants.NGHTTP2_CANCEL]);
  await busy.untilOpen(0);
  let last = Buffer.alloc(0);
  for await (const chunk of socket) last = chunk;
  expect(last.toString("latin1").endsWith("0\r\n\r\n")).toBe(false);
  for (const { session } of unread) session.destroy();
});

describe.each(forms)("receipts as %s", (form: Form) => {
  it("come to their end", async () => {
    expect((await drain(receive(service, form, { from: 1 }))).length).toBeGreaterThan(0);
    await service.untilOpen(0);
  });

  it("are refused for a fault in the request", async () => {
    for (const from of [0, 5])
      await expect(drain(receive(service, form, { from }))).rejects.toThrow("the stream failed");
    await service.untilOpen(0);
  });
});

describe("a client that reads nothing", () => {
  it.each([restPath, rpcPath])("gives its place back when it resets %s, or its connection ends", async (path) => {
    const first = beginUnread(unlimited.url, path);
    const second = beginUnread(unlimited.url, path);
    await unlimited.untilOpen(2);
    first.stream.close(constants.NGHTTP2_CANCEL);
    await unlimited.untilOpen(1);
    first.session.destroy();
    second.session.destroy();
    await unlimited.untilOpen(0);
  });

  it("gives its place back when it leaves over HTTP/1.1", async () => {
    const socket = await beginUnreadHttp1(unlimited);
    await unlimited.untilOpen(1);
    socket.destroy();
    await unlimited.untilOpen(0);
  });
});

it("a stream that is aborted at once frees its place", async () => {
  for (let count = 0; count < 10; count++) {
    const socket = connectSocket(service.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`GET ${restPath}?follow=true HTTP/1.1\r\nHost: stoa\r\n\r\n`, () => socket.destroy());
    const { session, stream } = beginUnread(service.url, count % 2 === 0 ? restPath : rpcPath);
    stream.close(constants.NGHTTP2_CANCEL);
    session.once("connect", () => setImmediate(() => session.destroy()));
  }
  // Served after those before it.
  expect((await service.rest("posts")).status).toBe(200);
  await service.untilOpen(0);
});

describe("requests that are pipelined behind a stream take no place for good", () => {
  const following = Buffer.from('{"follow":true}');
  const rpcHead = `POST ${rpcPath} HTTP/1.1\r\nHost: stoa\r\nContent-Type: application/connect+json`;
  const requests = [
    `GET ${restPath}?follow=true HTTP/1.1\r\nHost: stoa\r\n\r\n`,
    `${rpcHead}\r\nContent-Length: ${following.length + 5}\r\n\r\n${envelope(following)}`,
  ];
  it.each(requests)("%s", async (request) => {
    for (const more of [5, 5_000]) {
      for (const sendsApart of [false, true]) {
        const socket = connectSocket({ port: service.port, host: "127.0.0.1", allowHalfOpen: true });
        socket.on("error", () => {});
        socket.write(sendsApart ? request : request.repeat(more));
        await new Promise((resolve) => socket.once("data", resolve));
        expect(await service.open()).toBeGreaterThan(0);
        socket.end(sendsApart ? request.repeat(more) : "");
        await service.untilOpen(0);
        socket.destroy();
      }
    }
  });
});

it.each(["application/x-ndjson", "text/event-stream"])(
  "a stream of %s has no more listeners than Node expects",
  async (accept) => {
    const warnings: Error[] = [];
    const warn = (warning: Error) => warnings.push(warning);
    process.on("warning", warn);
    afterTest(() => void process.off("warning", warn));
    // A request with a body has a listener more than one without.
    const headers = { accept, "content-length": "2" };
    const client = http.request(`${service.url}${restPath}?follow=true`, { headers }).end("{}");
    const [reply] = await once(client, "response");
    await once(reply, "data");
    client.destroy();
    expect(warnings.filter(({ name }) => name === "MaxListenersExceededWarning")).toEqual([]);
    await service.untilOpen(0);
  },
);
