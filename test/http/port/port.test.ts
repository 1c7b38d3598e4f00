// Which protocol a connection speaks, how long it may take, and what is refused.
import { once } from "node:events";
import http2 from "node:http2";
import https from "node:https";
import net from "node:net";
import { describe, expect, it } from "vitest";
import { afterTest } from "../../support/after-test.ts";
import {
  certificate,
  connect,
  connectHttp2,
  connectSplitting,
  connectTls,
  EMPTY_SETTINGS,
  get,
  PREFACE,
  readStream,
  request,
  SETTINGS_ACK,
  SOON,
  start,
} from "../../support/port.ts";

describe("protocols", () => {
  it("serves both by ALPN with a certificate, HTTP/1.1 to a client without ALPN", async () => {
    const { number } = await start({ tls: certificate });
    expect(await readStream(get(connectHttp2(number, "https"), "/version"))).toBe('{"version":"2.0"}');
    for (const alpn of [{ ALPNProtocols: ["http/1.1"] }, {}]) {
      const options = { port: number, path: "/version", agent: false, rejectUnauthorized: false, ...alpn };
      const [response] = await once(https.get(options), "response");
      expect((await response.setEncoding("utf8").toArray()).join("")).toBe('{"version":"1.1"}');
    }
  });

  it("recognises a preface that arrives byte by byte", async () => {
    const { number } = await start();
    const { socket, seen, sendAlone } = await connectSplitting(number);
    for (const byte of PREFACE) await sendAlone(byte);
    socket.write(EMPTY_SETTINGS);
    await seen(SETTINGS_ACK);
  });

  it("passes every byte to the HTTP/1.1 parser if the first bytes are not a preface", async () => {
    const { number } = await start();
    const { socket, seen, sendAlone } = await connectSplitting(number);
    for (const part of ["P", "OST /length HTTP/1.1\r\nHost: stoa\r\n", "Content-Type: application/json\r\nContent-"])
      await sendAlone(part);
    const body = JSON.stringify("x".repeat(500_000));
    socket.write(`Length: ${body.length}\r\n\r\n${body}`);
    await seen(`{"length":${body.length}}`);
  });

  it("passes a request line that begins like a preface to the HTTP/1.1 parser, byte by byte", async () => {
    const { number } = await start();
    const { closed, sendAlone } = await connectSplitting(number);
    for (const byte of "PRI * HTTP/2.0\r\n\r\nSX") await sendAlone(byte);
    expect(await closed).toMatch(/^HTTP\/1\.1 400 /);
  });

  it("answers a client that ends its side with the request, if the answer is there at once", async () => {
    const { number } = await start();
    const { socket, closed } = connect(number);
    socket.end(request("/version"));
    expect(await closed).toContain('{"version":"1.1"}');
  });

  it("answers Expect: 100-continue", async () => {
    const { number } = await start();
    const { socket, seen } = connect(number);
    socket.write("POST /length HTTP/1.1\r\nHost: stoa\r\nExpect: 100-continue\r\nContent-Length: 2\r\n");
    socket.write("Content-Type: application/json\r\n\r\n");
    await seen("HTTP/1.1 100 Continue\r\n\r\n");
    socket.write("[]");
    await seen('{"length":2}');
  });

  it("tells an HTTP/2 client to go on if it asks, hands CONNECT on, and limits streams", async () => {
    const { number } = await start();
    const session = connectHttp2(number);
    const headers = { ":path": "/length", ":method": "POST", "content-type": "application/json" };
    const waiting = session.request({ ...headers, expect: "100-continue" });
    waiting.once("continue", () => waiting.end("[]"));
    expect(await readStream(waiting)).toBe('{"length":2}');
    const [head] = await once(session.request({ ":method": "CONNECT", ":authority": "example.com" }), "response");
    expect(head[":status"]).toBe(404);
    expect(session.remoteSettings.maxConcurrentStreams).toBe(128);
  });
});

// They wait most of the time.
describe.concurrent("time limits", () => {
  /** Longer than a busy machine takes to read a request that has been sent. */
  const LIMIT = 6 * SOON;

  it("closes connections that begin a request head and do not end it", async () => {
    const { number } = await start({ headersTimeoutMs: LIMIT });
    const halfPreface = connect(number);
    halfPreface.socket.write(PREFACE.slice(0, 10));
    const halfHead = connect(number);
    halfHead.socket.write("GET /version HTTP/1.1\r\nHost:");
    expect(await halfPreface.closed).toBe("");
    expect(await halfHead.closed).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/);
  });

  // Go's clients keep connections that they have not used yet.
  it.each([undefined, certificate])("keeps connections that wait longer than a head may take", async (tls) => {
    const { number } = await start({ tls, headersTimeoutMs: LIMIT });
    const open = () => (tls ? connectTls(number, "http/1.1") : connect(number));
    const unused = await open();
    const used = await open();
    used.socket.write(request("/version"));
    await used.seen("1.1");
    const session = connectHttp2(number, tls ? "https" : "http");
    await once(session, "remoteSettings");
    const halfHead = await open();
    halfHead.socket.write("GET /version HTTP/1.1\r\nHost:");
    await halfHead.closed;
    for (const { socket } of [unused, used]) socket.write(request("/version"));
    await unused.seen('{"version":"1.1"}');
    await used.seen('{"version":"1.1"}', 2);
    expect(await readStream(get(session, "/version"))).toBe('{"version":"2.0"}');
  });

  it("closes connections without a request", async () => {
    const { number, port } = await start({ idleTimeoutMs: LIMIT });
    const silent = connect(number);
    const prefaceOnly = connect(number);
    prefaceOnly.socket.write(PREFACE);
    const noRequest = connect(number);
    noRequest.socket.write(Buffer.concat([Buffer.from(PREFACE), EMPTY_SETTINGS]));
    const halfHeaders = connect(number);
    const headersFrame = Buffer.from([0, 0, 1, 1, 0, 0, 0, 0, 1, 0x82]); // no END_HEADERS
    halfHeaders.socket.write(Buffer.concat([Buffer.from(PREFACE), EMPTY_SETTINGS, headersFrame]));

    expect(await silent.closed).toBe("");
    await Promise.all([prefaceOnly.closed, noRequest.closed, halfHeaders.closed]);
    await port.drained();
    expect(port.connections).toEqual({ total: 0, http2: 0 });
  });

  it("closes TLS connections that stop in the handshake or after it", async () => {
    const { number } = await start({ tls: certificate, headersTimeoutMs: LIMIT });
    const silent = connect(number);
    const halfHello = connect(number);
    halfHello.socket.write(Buffer.from("16030102000100", "hex"));
    // Here nothing cuts a handshake, however long it takes.
    const other = await start({ tls: certificate, idleTimeoutMs: LIMIT });
    const afterwards = [await connectTls(other.number, "h2"), await connectTls(other.number, "http/1.1")];
    await Promise.all([silent, halfHello, ...afterwards].map(({ closed }) => closed));
  });

  it("closes idle connections, but no session with a quiet stream", async () => {
    const { number, release } = await start({
      idleTimeoutMs: LIMIT,
      headersTimeoutMs: LIMIT,
      requestTimeoutMs: LIMIT,
    });
    const session = connectHttp2(number);
    const unread = session.request({ ":path": "/unread", ":method": "POST" }).end("body");
    const busy = [get(session, "/streamed"), unread];
    const texts = busy.map(readStream);
    await Promise.all(busy.map((stream) => once(stream, "response")));

    const http1 = connect(number);
    http1.socket.write(request("/version"));
    const idle = connectHttp2(number);
    const goaway = once(idle, "goaway");
    await readStream(get(idle, "/version"));
    expect((await goaway)[0]).toBe(http2.constants.NGHTTP2_NO_ERROR);
    await Promise.all([once(idle, "close"), http1.closed]);
    // The client of the quiet stream is asked meanwhile whether it is there.
    for (let times = 1; times <= 2; times++) await connect(number).closed;

    expect(await readStream(get(session, "/version"))).toBe('{"version":"2.0"}');
    release();
    expect(await Promise.all(texts)).toEqual(["first,last.", "first,last."]);
  });

  it("cuts a request whose body stalls, over HTTP/1.1 and HTTP/2", async () => {
    const { number } = await start({ headersTimeoutMs: LIMIT, requestTimeoutMs: LIMIT + SOON });
    const { socket, closed } = connect(number);
    socket.write("POST /length HTTP/1.1\r\nHost: stoa\r\nContent-Type: application/json\r\nContent-Length: 9\r\n\r\n[");
    const headers = { ":path": "/length", ":method": "POST", "content-type": "application/json" };
    const stream = connectHttp2(number).request(headers);
    stream.on("error", () => {});
    stream.write("[");
    await once(stream, "close");
    expect(stream.rstCode).toBe(http2.constants.NGHTTP2_CANCEL);
    expect(await closed).toMatch(/^HTTP\/1\.1 408 /);
  });

  it("ends a session whose peer leaves without GOAWAY", async () => {
    const { number } = await start();
    const { socket, seen, closed } = connect(number);
    socket.write(Buffer.concat([Buffer.from(PREFACE), EMPTY_SETTINGS]));
    await seen("\0\0\0\x04\x01\0\0\0\0");
    // The client's socket closes only after the server has ended its side too.
    socket.end();
    await closed;
  });

  it("destroys a session whose peer does not close its side", async () => {
    const { number, port } = await start({ idleTimeoutMs: SOON });
    const socket = net.connect({ port: number, host: "127.0.0.1", allowHalfOpen: true });
    socket.on("error", () => {});
    socket.resume().write(Buffer.concat([Buffer.from(PREFACE), EMPTY_SETTINGS]));
    await once(socket, "end");
    afterTest(() => socket.destroy());
    await port.drained();
    expect(port.connections).toEqual({ total: 0, http2: 0 });
  });
});

it("a request may have 128 fields, and all of them are read", async () => {
  const { number } = await start({}, (app) =>
    app.get("/fields", ({ headers }) => ({ count: Object.keys(headers).length })),
  );
  const { socket, seen } = connect(number);
  socket.write(request("/fields", ...Array.from({ length: 127 }, (_, index) => `X${index}: y`)));
  expect(await seen("}")).toContain('{"count":128}');
});

describe("refused requests", () => {
  it.each([
    ["a malformed request line", "GET\r\n\r\n", 400],
    ["a header that never ends", `GET / HTTP/1.1\r\nX-Long: ${"x".repeat(2_000_000)}`, 431],
  ])("answers %s as the application wants", async (_name, bytes, status) => {
    for (const tls of [undefined, certificate]) {
      const { number } = await start({
        tls,
        refuse: (status) => ({ status, body: `{"refused":${status}}`, headers: { "X-Own": "1" } }),
      });
      const { socket, closed } = tls ? await connectTls(number, "http/1.1") : connect(number);
      socket.write(bytes);
      const reply = await closed;
      expect(reply).toMatch(new RegExp(`^HTTP/1\\.1 ${status} [A-Z][A-Za-z ]+\r\n`));
      expect(reply).toContain("\r\nConnection: close\r\n");
      expect(reply).toContain("\r\nContent-Type: application/json; charset=utf-8\r\n");
      expect(reply).toContain("\r\nX-Own: 1\r\n");
      expect(reply.endsWith(`\r\n\r\n{"refused":${status}}`)).toBe(true);
      expect(socket.errored).toBe(null); // a reset could make the client lose the reply
    }
  });

  it("are answered after a reply that has begun", async () => {
    const { number, release } = await start();
    const { socket, seen, closed } = connect(number);
    socket.write(request("/streamed"));
    await seen("first,");
    socket.write("garbage\r\n\r\n");
    release();
    expect(await closed).toMatch(/first,(.|\r\n)*last\.\r\n0\r\n\r\nHTTP\/1\.1 400 /);
  });

  it("survives garbage, with and without TLS", async () => {
    for (const tls of [undefined, certificate]) {
      const { number, port } = await start({ tls });
      const garbage = [
        "\0\x01\x02\r\n\r\n",
        `${PREFACE}garbage that is no frame at all`,
        "GET / HTTP/1.1\r\n\r\n",
        Buffer.from("16030100050100000100", "hex"),
        Buffer.alloc(100_000, 0xff),
      ];
      const connections = garbage.map((bytes) => {
        const connection = connect(number);
        connection.socket.end(bytes);
        return connection;
      });
      for (const begin of ["PRI", PREFACE, "GET"]) {
        const reset = connect(number);
        reset.socket.write(begin, () => reset.socket.resetAndDestroy());
        connections.push(reset);
      }
      await Promise.all(connections.map(({ closed }) => closed));

      const session = connectHttp2(number, tls ? "https" : "http");
      expect(await readStream(get(session, "/version"))).toBe('{"version":"2.0"}');
      session.close();
      await port.drained();
    }
  });
});
