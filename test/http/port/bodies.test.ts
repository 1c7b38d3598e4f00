import { once } from "node:events";
import http2 from "node:http2";
import type { FastifyInstance } from "fastify";
import { describe, expect, it } from "vitest";
import { countTurns } from "../../support/event-loop.ts";
import { connect, connectHttp2, connectSplitting, readStream, start } from "../../support/port.ts";

const { NGHTTP2_ENHANCE_YOUR_CALM } = http2.constants;
const KIB = 1024;

function takeBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", { parseAs: "buffer" }, (_request, body, done) => done(null, body));
}

function post(session: http2.ClientHttp2Session, fields: http2.OutgoingHttpHeaders = {}): http2.ClientHttp2Stream {
  const stream = session.request({ ":method": "POST", ":path": "/length", ...fields });
  stream.on("error", () => {});
  return stream;
}

/** Begins an HTTP/1.1 request, and has so many bytes of its body sent. */
function begin(number: number, bytes: number) {
  const connection = connect(number);
  connection.socket.write(
    `POST /length HTTP/1.1\r\nHost: stoa\r\nContent-Length: ${bytes + 1}\r\n\r\n${"x".repeat(bytes)}`,
  );
  return connection;
}

describe("incomplete bodies", () => {
  it("are reset if a session has too many of them, and its other calls continue", async () => {
    const { number } = await start({ bodies: { maxPerConnection: 128 * KIB, maxTotal: 1024 * KIB } }, takeBytes);
    const session = connectHttp2(number);
    const small = post(session);
    small.write("x");
    const large = Array.from({ length: 5 }, () => {
      const stream = post(session);
      stream.write("x".repeat(30 * KIB));
      return stream;
    });
    const ended = await Promise.race(
      large.map((stream) => new Promise((resolve) => stream.once("close", () => resolve(stream.rstCode)))),
    );
    expect(ended).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
    small.end();
    expect(await readStream(small)).toMatch(/^\{"length":\d+\}$/);
    expect(large.filter(({ closed }) => !closed).length).toBeGreaterThan(2);
  });

  it("end the connection that holds most if there are too many in total", async () => {
    const { number } = await start({ bodies: { maxPerConnection: 256 * KIB, maxTotal: 256 * KIB } }, takeBytes);
    const small = begin(number, 1);
    const large = [begin(number, 90 * KIB), begin(number, 90 * KIB), begin(number, 90 * KIB)];
    await Promise.race(large.map(({ closed }) => closed));
    small.socket.write("y");
    expect(await small.seen("}")).toContain("200 OK");
  });

  it("no longer count when they are complete or their connection is closed", async () => {
    const { number, port } = await start({ bodies: { maxPerConnection: 256 * KIB, maxTotal: 256 * KIB } }, takeBytes);
    for (let round = 0; round < 5; round++) {
      const whole = begin(number, 200 * KIB);
      whole.socket.write("y");
      await whole.seen("}");
      whole.socket.destroy();
      const half = begin(number, 200 * KIB);
      while (half.socket.bytesWritten < 200 * KIB) await once(half.socket, "drain");
      const session = connectHttp2(number);
      post(session).write("x".repeat(40 * KIB));
      const other = post(session);
      expect(await readStream(other.end("y"))).toContain("length");
      half.socket.destroy();
      session.destroy();
      while (port.connections.total > 0) await new Promise(setImmediate);
    }
  });

  it("count while they wait for their turns, and no longer when they are handled", async () => {
    const sending = { sendTimeoutMs: 60_000, maxUnsentPerConnection: 2048 * KIB, maxUnsent: 64 * 1024 * KIB };
    const bodies = { maxPerConnection: 128 * KIB, maxTotal: 1024 * KIB };
    const { number, entered, release } = await start({ sending, bodies }, takeBytes);
    const session = connectHttp2(number);
    for (let round = 0; round < 10; round++) {
      expect(await readStream(post(session).end("x".repeat(30 * KIB)))).toContain("length");
    }
    const other = connectHttp2(number);
    // Each of these may have a reply of 1 MiB, so further requests wait.
    for (let count = 0; count < 2; count++) {
      const begun = entered();
      post(other, { ":method": "GET", ":path": "/held" }).end();
      await begun;
    }
    const waiting = Array.from({ length: 5 }, () => post(other).end("x".repeat(27 * KIB)));
    const ended = await Promise.race(
      waiting.map((stream) => new Promise((resolve) => stream.once("close", () => resolve(stream.rstCode)))),
    );
    expect(ended).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
    release();
    const rest = waiting.filter(({ closed }) => !closed);
    expect(rest.length).toBeGreaterThan(2);
    for (const stream of rest) expect(await readStream(stream)).toContain("length");
  });

  it("count for each chunk: a body that comes byte by byte costs more than its bytes", async () => {
    const { number } = await start({ bodies: { maxPerConnection: 64 * KIB, maxTotal: 1024 * KIB } }, takeBytes);
    const { socket, closed } = connect(number);
    socket.write("POST /length HTTP/1.1\r\nHost: stoa\r\nTransfer-Encoding: chunked\r\n\r\n");
    socket.write("1\r\nx\r\n".repeat(400));
    await closed;
  });

  it("are served over HTTP/2 without a length and a type when they are complete", async () => {
    const { number } = await start({}, takeBytes);
    const session = connectHttp2(number);
    const plain = post(session);
    plain.write("ab");
    expect(await readStream(plain.end("c"))).toBe(`{"length":${JSON.stringify(Buffer.from("abc")).length}}`);
  });

  it("are passed on only when they are complete if they are compressed", async () => {
    const pieces: number[] = [];
    const { number } = await start({}, (each) => {
      takeBytes(each);
      each.addHook("preParsing", async ({ raw }) => void raw.on("data", ({ length }) => pieces.push(length)));
    });
    const { seen, sendAlone } = await connectSplitting(number);
    await sendAlone("POST /length HTTP/1.1\r\nHost: stoa\r\nContent-Encoding: gzip\r\nContent-Length: 8\r\n\r\nhalf");
    expect(pieces).toEqual([]);
    await sendAlone("rest");
    await seen('{"length":');
    expect(pieces).toEqual([4, 4]);
  });

  it("over HTTP/2 are handled only when they are complete, or long, or those of a stream", async () => {
    const types: string[] = [];
    const { number } = await start({}, (app) => {
      takeBytes(app);
      app.addHook("onRequest", async ({ headers }) => void types.push(String(headers["content-type"])));
    });
    const session = connectHttp2(number);
    const begin = (type: string, part: string, fields = {}) => {
      const stream = post(session, { "content-type": type, ...fields });
      stream.write(part);
      return stream;
    };
    /** Resolves when the server has read everything before it. */
    const settle = () => readStream(post(session, { "content-type": "text/whole" }).end("y"));
    const short = begin("text/short", "half");
    const compressed = begin("text/compressed", "x".repeat(100 * KIB), { "content-encoding": "gzip" });
    const long = begin("text/long", "x".repeat(60 * KIB));
    const call = begin("application/grpc", "half");
    while (types.length < 2) await settle();
    expect(types.filter((type) => type !== "text/whole").sort()).toEqual(["application/grpc", "text/long"]);
    for (const stream of [short, compressed, long, call]) {
      expect(await readStream(stream.end("rest"))).toMatch(/^\{"length":\d+\}$/);
    }
    expect(types).toContain("text/compressed");
  });

  it("are not handled if the client resets them", async () => {
    const lengths: number[] = [];
    const { number } = await start({}, (app) => {
      takeBytes(app);
      app.addHook("onRequest", async ({ headers }) => void lengths.push(Number(headers["content-length"])));
    });
    const session = connectHttp2(number);
    const half = post(session, { "content-length": 8 });
    half.write("half");
    await readStream(post(session).end("y"));
    half.close(http2.constants.NGHTTP2_CANCEL);
    await readStream(post(session).end("y"));
    expect(lengths).not.toContain(8);
  });

  it("yield to the event loop if they come in thousands of chunks, and are then served", async () => {
    const { number } = await start({}, (app) => {
      app.removeAllContentTypeParsers();
      app.addContentTypeParser("*", { parseAs: "string" }, (_request, body, done) => done(null, body));
    });
    const connections = Array.from({ length: 4 }, () => connect(number));
    await Promise.all(connections.map(({ socket }) => once(socket, "connect")));
    const turns = countTurns();
    for (const { socket } of connections) {
      const head = "POST /length HTTP/1.1\r\nHost: stoa\r\nTransfer-Encoding: chunked\r\n\r\n";
      const next = "GET /version HTTP/1.1\r\nHost: stoa\r\nConnection: close\r\n\r\n";
      socket.write(`${head}${"1\r\nx\r\n".repeat(9_000)}0\r\n\r\n${next}`);
    }
    for (const { seen } of connections) expect(await seen('{"version":"1.1"}')).toContain('{"length":9002}');
    expect(turns()).toBeGreaterThan(6);
  });
});
