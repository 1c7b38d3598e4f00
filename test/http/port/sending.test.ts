import { once } from "node:events";
import http2 from "node:http2";
import type { FastifyInstance } from "fastify";
import { describe, expect, it } from "vitest";
import type { Port, PortOptions } from "../../../src/http/port/port.ts";
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
  NEVER,
  readStream,
  request,
  SOON,
  start,
} from "../../support/port.ts";

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_NO_ERROR } = http2.constants;
const MIB = 1024 * 1024;

const sending = (changes: Partial<PortOptions> = {}): Partial<PortOptions> => ({
  sendTimeoutMs: SOON,
  maxHeldPerConnection: 100 * MIB,
  maxHeld: 200 * MIB,
  ...changes,
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

async function untilConnections(port: Port, count: number): Promise<void> {
  while (port.connections.total !== count) await new Promise(setImmediate);
}

describe("the time limit of replies", () => {
  it("cuts an HTTP/1.1 connection that does not read its reply", async () => {
    for (const tls of [undefined, certificate]) {
      const { port, number } = await start({ tls, ...sending() });
      const { socket } = tls ? await connectTls(number, "http/1.1") : connect(number);
      socket.pause();
      socket.write(request("/large"));
      await untilConnections(port, 1);
      await untilConnections(port, 0);
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

  it("ends an HTTP/2 session whose socket is not read", async () => {
    const { port, number } = await start({ ...sending(), idleTimeoutMs: SOON });
    const { socket, received } = connectFrames(number, { [INITIAL_WINDOW_SIZE]: 2 ** 31 - 1 });
    afterTest(() => socket.destroy());
    socket.write(Buffer.concat([windowUpdate(0, 2 ** 30), frames.get(1, "/large")]));
    await received(({ type }) => type === frameType.data);
    socket.pause();
    await untilConnections(port, 0);
  });

  it("lets a slow client go on and a silent stream wait", async () => {
    const sendTimeoutMs = 500;
    const { number, release } = await start(sending({ sendTimeoutMs }));
    const quiet = connectHttp2(number);
    const waiting = get(quiet, "/streamed");
    const text = readStream(waiting);
    await once(waiting, "response");

    const slow = get(connectNarrow(number, 64 * 1024), "/large");
    const begun = performance.now();
    let last = begun;
    let longestMs = 0;
    const isOver = () => performance.now() - begun > 2.5 * sendTimeoutMs;
    try {
      for await (const _ of slow) {
        longestMs = Math.max(longestMs, performance.now() - last);
        last = performance.now();
        if (isOver()) break;
        await new Promise((resolve) => setTimeout(resolve, SOON / 10)); // the client's own pace
      }
    } catch {
      // On a machine that stalls, even this client may read nothing for too long, and no other cause is right.
      longestMs = Math.max(longestMs, performance.now() - last);
    }
    expect(isOver() || longestMs > sendTimeoutMs - SOON).toBe(true);
    release();
    expect(await text).toBe("first,last.");
  });
});

/** A route whose replies take a MiB. */
const addReplies = (app: FastifyInstance, asked: string[] = []) => {
  app.get("/mib/:id", ({ url }, reply) => {
    asked.push(url);
    reply.hijack();
    reply.raw.end(Buffer.alloc(MIB, "x"));
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

describe("the bounds of unsent replies", () => {
  it("reset replies over the bound of a connection, and its others arrive", async () => {
    const { number } = await start(sending({ maxHeldPerConnection: 4.5 * MIB, sendTimeoutMs: NEVER }), addReplies);
    const session = connectNarrow(number, 0);
    const outcomes = askForMany(session);
    expect(await Promise.race(outcomes)).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
    session.settings({ initialWindowSize: MIB });
    const codes = await Promise.all(outcomes);
    expect(codes.filter((code) => code === NGHTTP2_NO_ERROR).length).toBeGreaterThanOrEqual(4);
  });

  it("count what a small reply takes besides its bytes", async () => {
    const { number, port } = await start(sending({ maxHeld: 2 * MIB, sendTimeoutMs: NEVER }));
    // 128 replies of 17 bytes each take a megabyte.
    const sessions = Array.from({ length: 3 }, () => connectNarrow(number, 0));
    const streams = sessions.flatMap((session) => Array.from({ length: 100 }, () => get(session, "/version")));
    for (const stream of streams) stream.resume();
    await Promise.race(sessions.map(untilClosed));
    expect(port.connections.total).toBeGreaterThan(0);
  });

  it("count what waits behind a running request", async () => {
    const { number, port, entered } = await start(sending({ maxHeld: MIB, sendTimeoutMs: NEVER }));
    const connections = Array.from({ length: 30 }, () => connect(number));
    for (const { socket } of connections) {
      const running = entered();
      socket.write(request("/held"));
      await running;
      socket.write("x".repeat(50_000));
    }
    await Promise.race(connections.map(({ closed }) => closed));
    expect(port.connections.total).toBeGreaterThan(0);
    for (const { socket } of connections) socket.destroy();
  });

  it("make no further replies for a connection that is cut", async () => {
    const asked: string[] = [];
    const { number, port } = await start(sending({ maxHeld: 4.5 * MIB, sendTimeoutMs: NEVER }), (app) =>
      addReplies(app, asked),
    );
    const session = connectNarrow(number, 0);
    const outcomes = askForMany(session);
    await untilClosed(session);
    await Promise.all(outcomes);
    await untilConnections(port, 0);
    expect(asked.length).toBeLessThan(60);
  });

  it("cut the connections that hold most and have been stuck longest", async () => {
    const { port, number } = await start(sending({ maxHeld: 2.5 * LARGE, sendTimeoutMs: NEVER }), addReplies);
    const stuck = Array.from({ length: 2 }, () => {
      const connection = connect(number);
      connection.socket.pause();
      connection.socket.write(request("/large"));
      return connection;
    });
    await untilConnections(port, 2);
    const small = connectNarrow(number, 0);
    const modest = get(small, "/mib/1");
    await once(modest, "response");
    const reader = connect(number);
    reader.socket.write(request("/large", "Connection: close"));
    expect((await reader.closed).length).toBeGreaterThan(LARGE);
    await untilConnections(port, 2);
    small.settings({ initialWindowSize: MIB });
    expect(await readStream(modest)).toHaveLength(MIB);
    for (const { socket } of stuck) socket.destroy();
  });
});
