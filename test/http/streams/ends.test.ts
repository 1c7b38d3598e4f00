// However a stream ends, its place is free again.
import { connect, constants } from "node:http2";
import { connect as connectSocket } from "node:net";
import { describe, expect, it } from "vitest";
import { drain, type Form, forms, receive, type StreamFailure } from "../../ledger/reading/followers.ts";
import { fill } from "../../ledger/support.ts";
import { createLinkedDatabase } from "../../support/database-link.ts";
import type { Service } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";
import { type Kind, kinds, openStream, startStreaming } from "./support.ts";

const restPath = "/api/v1/house/receipts/stream";

// Each has a service of its own, and waits most of the time.
describe.concurrent.each(kinds)("%s", (kind: Kind) => {
  it("ends when its client leaves", async () => {
    const service = await startStreaming();
    const streams = await Promise.all([1, 2, 3].map(() => openStream(service, kind)));
    await service.untilOpen(3);
    for (const { leave } of streams) leave();
    await service.untilOpen(0);
  });

  it("ends with the service", async () => {
    const service = await startStreaming();
    const { ended } = await openStream(service, kind);
    const closed = service.app.close();
    expect(await ended).toMatchObject({
      code: "unavailable",
      message: "The service is stopping.",
      retryAfterSeconds: 1,
    });
    await closed;
  });

  it("ends after its maximum duration and says how to continue", async () => {
    const service = await startStreaming({ maxMs: 1_000 });
    const begun = performance.now();
    const { ended } = await openStream(service, kind);
    expect(await ended).toEqual({
      code: "unavailable",
      message: "A stream ends after 1 s. Connect again, and start from the next seq or id.",
      retryAfterSeconds: 1,
    });
    expect(performance.now() - begun).toBeGreaterThan(850);
    await service.untilOpen(0);
  });
});

describe.each(forms)("receipts as %s", (form: Form) => {
  it("come to their end", async () => {
    const service = await startStreaming();
    expect((await drain(receive(service, form, { from: 1 }))).length).toBe(1);
    await service.untilOpen(0);
  });

  it("are refused for a fault in the request", async () => {
    const service = await startStreaming();
    for (const from of [0, 5])
      await expect(drain(receive(service, form, { from }))).rejects.toThrow("the stream failed");
    await service.untilOpen(0);
  });

  it("fail with the database", async () => {
    const db = await createLinkedDatabase();
    const service = await startStreaming({}, { db });
    const stream = receive(service, form, { follow: true });
    await stream.next();
    await service.untilOpen(1);
    await db.cut();
    await expect(drain(stream)).rejects.toMatchObject({
      code: expect.stringMatching(/^unavailable$/i),
    } as StreamFailure);
    await service.untilOpen(0);
  });
});

/** Begins an HTTP/2 request of a stream and does not read what comes. */
function beginUnread({ url }: Service, path: string) {
  const session = connect(url, { settings: { initialWindowSize: 0 } });
  session.on("error", () => {});
  const isRpc = path.startsWith("/stoa");
  const stream = session.request({
    ":path": path,
    ":method": isRpc ? "POST" : "GET",
    ...(isRpc ? { "content-type": "application/grpc", te: "trailers" } : {}),
  });
  stream.on("error", () => {});
  // The empty message asks for all receipts.
  if (isRpc) stream.end(Buffer.alloc(5));
  return { session, stream };
}

describe.concurrent.each([restPath, "/stoa.v1.LedgerService/StreamReceipts"])(
  "a client of %s that reads nothing",
  (path) => {
    it("gives its place back when it resets its stream, or its connection ends", async () => {
      const service = await startStreaming();
      await fill(service.db, 200, 2_000);
      const first = beginUnread(service, path);
      const second = beginUnread(service, path);
      await service.untilOpen(2);
      first.stream.close(constants.NGHTTP2_CANCEL);
      await service.untilOpen(1);
      first.session.destroy();
      second.session.destroy();
      await service.untilOpen(0);
    });

    it("is cut some seconds after its stream should have ended", async () => {
      const service = await startStreaming({ maxMs: 500 });
      await fill(service.db, 200, 2_000);
      const { session, stream } = beginUnread(service, path);
      await service.untilOpen(1);
      await service.untilOpen(0);
      await waitUntil("the stream to close", () => stream.closed);
      expect(stream.rstCode).toBe(constants.NGHTTP2_CANCEL);
      session.destroy();
    });
  },
);

it.concurrent("a client that does not read over HTTP/1.1 gives its place back when it leaves, and is cut otherwise", async () => {
  const service = await startStreaming({ maxMs: 1_500 });
  await fill(service.db, 1_200, 10_000);
  const begin = () => {
    const socket = connectSocket(service.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.pause();
    socket.write(`GET ${restPath}?from=1 HTTP/1.1\r\nHost: stoa\r\n\r\n`);
    return socket;
  };
  const leaving = begin();
  const staying = begin();
  await service.untilOpen(2);
  leaving.destroy();
  await service.untilOpen(1);
  await service.untilOpen(0);
  staying.destroy();
});

it("a stream that is aborted at once frees its place", async () => {
  const service = await startStreaming();
  for (let count = 0; count < 20; count++) {
    const socket = connectSocket(service.port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(`GET ${restPath}?follow=true HTTP/1.1\r\nHost: stoa\r\n\r\n`, () => socket.destroy());
    const { session, stream } = beginUnread(
      service,
      count % 2 === 0 ? restPath : "/stoa.v1.LedgerService/StreamReceipts",
    );
    stream.close(constants.NGHTTP2_CANCEL);
    session.once("connect", () => setImmediate(() => session.destroy()));
  }
  // Served after those before it.
  expect((await service.rest("posts")).status).toBe(200);
  await service.untilOpen(0);
});

it("requests that are pipelined behind a stream take no place for good", async () => {
  // Nothing more is read of such a connection: its end shows when something is written, which happens regularly.
  const service = await startStreaming({}, { overrides: { heartbeatMs: 50 } });
  const socket = connectSocket(service.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.write(`GET ${restPath}?follow=true HTTP/1.1\r\nHost: stoa\r\n\r\n`.repeat(5));
  await new Promise((resolve) => socket.once("data", resolve));
  expect(await service.open()).toBeGreaterThan(0);
  socket.destroy();
  await service.untilOpen(0);
});
