import { once } from "node:events";
import http2 from "node:http2";
import type { FastifyInstance } from "fastify";
import { describe, expect, it } from "vitest";
import type { PortOptions } from "../../../src/http/port/port.ts";
import { afterTest } from "../../support/after-test.ts";
import * as frames from "../../support/http2-frames.ts";
import { connectFrames, frameType, INITIAL_WINDOW_SIZE, windowUpdate } from "../../support/http2-frames.ts";
import {
  certificate,
  connect,
  connectHttp2,
  connectTls,
  get,
  LARGE,
  readStream,
  request,
  SOON,
  start,
} from "../../support/port.ts";

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR } = http2.constants;
const MIB = 1024 * 1024;

const sending = (changes: Partial<NonNullable<PortOptions["sending"]>> = {}): Partial<PortOptions> => ({
  sending: { sendTimeoutMs: SOON, maxUnsentPerConnection: 100 * MIB, maxUnsent: 200 * MIB, ...changes },
});

/** An HTTP/2 client that lets a server send only so many bytes on each stream. */
function connectNarrow(number: number, initialWindowSize: number, scheme = "http"): http2.ClientHttp2Session {
  const session = http2.connect(`${scheme}://127.0.0.1:${number}`, {
    settings: { initialWindowSize },
    rejectUnauthorized: false,
  });
  session.on("error", () => {});
  afterTest(() => session.destroy());
  return session;
}

/** Unlike `once`, it does not take the reset of the connection for a failure. */
const untilClosed = (session: http2.ClientHttp2Session) => new Promise((resolve) => session.once("close", resolve));

describe("the time limit of replies", () => {
  it("cuts an HTTP/1.1 connection that does not read its reply", async () => {
    for (const tls of [undefined, certificate]) {
      const { port, number } = await start({ tls, ...sending() });
      const { socket } = tls ? await connectTls(number, "http/1.1") : connect(number);
      socket.pause();
      socket.write(request("/large"));
      while (port.connections.total === 0) await new Promise(setImmediate);
      while (port.connections.total > 0) await new Promise(setImmediate);
    }
  });

  it("resets an HTTP/2 stream whose window stays closed, and no other stream", async () => {
    for (const tls of [undefined, certificate]) {
      const { number } = await start({ tls, ...sending() });
      const session = connectNarrow(number, 0, tls ? "https" : "http");
      const stuck = get(session, "/large");
      await once(stuck, "close");
      expect(stuck.rstCode).toBe(NGHTTP2_CANCEL);
      session.settings({ initialWindowSize: 65_535 });
      expect(await readStream(get(session, "/version"))).toBe('{"version":"2.0"}');
    }
  });

  it("does not count a byte now and then as progress", async () => {
    const { number } = await start(sending({ sendTimeoutMs: 4 * SOON }));
    const { socket, received } = connectFrames(number, { [INITIAL_WINDOW_SIZE]: 1 });
    afterTest(() => socket.destroy());
    socket.write(frames.get(1, "/large"));
    // The client's own pace. A client of Node's asks for the next byte at once, and so takes thousands in a second.
    const pace = setInterval(() => socket.write(windowUpdate(1, 1)), SOON / 5);
    afterTest(() => clearInterval(pace));
    const reset = await received(({ type }) => type === frameType.rstStream);
    expect(reset?.payload.readUInt32BE()).toBe(NGHTTP2_CANCEL);
  });

  it("ends an HTTP/2 session whose socket is not read", async () => {
    const { port, number } = await start(sending());
    const { socket, received } = connectFrames(number, { [INITIAL_WINDOW_SIZE]: 2 ** 31 - 1 });
    afterTest(() => socket.destroy());
    socket.write(Buffer.concat([windowUpdate(0, 2 ** 30), frames.get(1, "/large")]));
    await received(({ type }) => type === frameType.data);
    socket.pause();
    while (port.connections.total > 0) await new Promise(setImmediate);
  });

  it("lets a slow client finish and a silent stream wait", async () => {
    const { number, release } = await start(sending({ sendTimeoutMs: 1_000 }));
    const begun = performance.now();
    const quiet = connectHttp2(number);
    const waiting = get(quiet, "/streamed");
    const text = readStream(waiting);
    await once(waiting, "response");

    const slow = get(connectNarrow(number, 64 * 1024), "/large");
    let received = 0;
    for await (const chunk of slow) {
      received += (chunk as Buffer).length;
      if (performance.now() - begun > 2_500) break;
      await new Promise((resolve) => setTimeout(resolve, SOON / 10)); // the client's own pace
    }
    expect(received).toBeGreaterThan(0);
    release();
    expect(await text).toBe("first,last.");
  });
});

describe("the budgets of unsent replies", () => {
  const addReplies = (app: FastifyInstance, asked: string[] = []) => {
    app.get("/mib/:id", async ({ url }) => {
      asked.push(url);
      await new Promise((resolve) => setTimeout(resolve, 20)); // as a database would take
      return "x".repeat(MIB);
    });
  };

  const askForMany = (session: http2.ClientHttp2Session) => {
    const streams = Array.from({ length: 60 }, (_, index) => get(session, `/mib/${index}`));
    return streams.map(async (stream) => {
      stream.resume();
      await new Promise((resolve) => stream.once("close", resolve));
      return stream.rstCode;
    });
  };
  const options = sending({ sendTimeoutMs: 60_000, maxUnsentPerConnection: 4.5 * MIB });

  it("delay further requests of an HTTP/2 session, and lose none", async () => {
    const asked: string[] = [];
    const { number } = await start(options, (app) => addReplies(app, asked));
    const session = connectNarrow(number, 0);
    const outcomes = askForMany(session);
    const other = connectHttp2(number);
    while (asked.length < 3) await readStream(get(other, "/version"));
    for (let count = 0; count < 20; count++) await readStream(get(other, "/version"));
    expect(asked.length).toBeLessThan(10);
    session.settings({ initialWindowSize: MIB });
    expect(new Set(await Promise.all(outcomes))).toEqual(new Set([NGHTTP2_NO_ERROR]));
    expect(asked).toHaveLength(60);
  });

  it("reset replies over the budget if a session asks for many large replies after small ones", async () => {
    const { number } = await start(options, (app) => addReplies(app));
    const session = connectNarrow(number, 65_535);
    for (let count = 0; count < 60; count++) await readStream(get(session, "/version"));
    await new Promise<void>((resolve) => session.settings({ initialWindowSize: 0 }, () => resolve()));
    const outcomes = askForMany(session);
    expect(await Promise.race(outcomes)).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
    session.settings({ initialWindowSize: MIB });
    const codes = await Promise.all(outcomes);
    expect(codes.filter((code) => code === NGHTTP2_NO_ERROR).length).toBeGreaterThanOrEqual(4);
  });

  it("fail the writes of a reply that is over the budget like writes to a closed stream", async () => {
    const failed = Promise.withResolvers<NodeJS.ErrnoException>();
    const { number } = await start(sending({ sendTimeoutMs: 60_000, maxUnsentPerConnection: 64 * 1024 }), (app) => {
      app.get("/", async (_request, reply) => {
        reply.hijack();
        reply.raw.writeHead(200);
        reply.raw.write(Buffer.alloc(MIB), "binary" as BufferEncoding, (error) => failed.resolve(error as Error));
      });
    });
    const stream = get(connectNarrow(number, 0), "/");
    const closed = new Promise((resolve) => stream.once("close", resolve));
    // Connect prints failures with other codes.
    expect((await failed.promise).code).toBe("ERR_STREAM_DESTROYED");
    await closed;
    expect(stream.rstCode).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
  });

  it("count small replies of a session, too", async () => {
    const { number } = await start(sending({ sendTimeoutMs: 60_000, maxUnsentPerConnection: 64 * 1024 }), (app) => {
      app.get("/small", async () => "x".repeat(4096));
    });
    const session = connectNarrow(number, 0);
    const streams = Array.from({ length: 60 }, () => get(session, "/small"));
    await Promise.all(streams.slice(0, 4).map((stream) => once(stream, "response")));
    session.settings({ initialWindowSize: MIB });
    const texts = await Promise.all(streams.map(readStream));
    expect(texts.every(({ length }) => length === 4096)).toBe(true);
  });

  it("count what a small reply takes besides its bytes", async () => {
    const { number, port } = await start(sending({ sendTimeoutMs: 60_000, maxUnsent: 2 * MIB }));
    // 128 replies of 17 bytes each take more than a megabyte.
    const sessions = Array.from({ length: 3 }, () => connectNarrow(number, 0));
    const streams = sessions.flatMap((session) => Array.from({ length: 100 }, () => get(session, "/version")));
    for (const stream of streams) stream.resume();
    await Promise.race(sessions.map(untilClosed));
    expect(port.connections.total).toBeGreaterThan(0);
  });

  it("make no further replies for a connection that is cut", async () => {
    const asked: string[] = [];
    const limits = sending({ sendTimeoutMs: 60_000, maxUnsentPerConnection: 16 * MIB, maxUnsent: 4.5 * MIB });
    const { number, port } = await start(limits, (app) => addReplies(app, asked));
    const session = connectNarrow(number, 0);
    const outcomes = askForMany(session);
    await untilClosed(session);
    await Promise.all(outcomes);
    while (port.connections.total > 0) await new Promise(setImmediate);
    expect(asked.length).toBeLessThan(15);
  });

  it("leave less to request bodies, whose connections are then ended", async () => {
    const bodies = { maxPerConnection: 16 * MIB, maxTotal: 40 * MIB };
    const limits = { ...sending({ sendTimeoutMs: 60_000, maxUnsent: 64 * MIB }), bodies };
    const { number } = await start(limits, (app) => {
      app.addContentTypeParser("application/octet-stream", { parseAs: "buffer" }, (_request, body, done) =>
        done(null, body),
      );
      app.post("/bytes", { bodyLimit: 32 * MIB }, async () => "all");
    });
    const unread = Array.from({ length: 2 }, () => get(connectNarrow(number, 0), "/large"));
    for (const stream of unread) stream.resume();
    // 38 MiB of replies and 30 MiB of bodies: each kind is within its own budget.
    const head = `POST /bytes HTTP/1.1\r\nHost: stoa\r\nContent-Type: application/octet-stream\r\nContent-Length: ${20 * MIB}\r\n\r\n`;
    const halves = Array.from({ length: 3 }, () => {
      const connection = connect(number);
      connection.socket.write(Buffer.concat([Buffer.from(head), Buffer.alloc(10 * MIB)]));
      return connection;
    });
    expect(await Promise.race(halves.map(({ closed }) => closed))).toBe("");
    expect(unread.map(({ closed }) => closed)).toEqual([false, false]);
  });

  it("cut the connections that hold most and have been stuck longest", async () => {
    const { port, number } = await start(sending({ sendTimeoutMs: 60_000, maxUnsent: 2.5 * LARGE }), addReplies);
    const stuck = Array.from({ length: 2 }, () => {
      const connection = connect(number);
      connection.socket.pause();
      connection.socket.write(request("/large"));
      return connection;
    });
    const accepted = async (count: number) => {
      while (port.connections.total !== count) await new Promise(setImmediate);
    };
    await accepted(2);
    const small = connectNarrow(number, 0);
    const modest = get(small, "/mib/1");
    await once(modest, "response");
    const reader = connect(number);
    reader.socket.write(request("/large", "Connection: close"));
    expect((await reader.closed).length).toBeGreaterThan(LARGE);
    for (let index = 0; port.connections.total > 2; index++) {
      const other = connect(number);
      other.socket.write(request("/large", "Connection: close"));
      expect((await other.closed).length).toBeGreaterThan(LARGE);
      expect(index).toBeLessThan(10);
    }
    small.settings({ initialWindowSize: MIB });
    expect(await readStream(modest)).toHaveLength(MIB);
    for (const { socket } of stuck) socket.destroy();
  });
});
