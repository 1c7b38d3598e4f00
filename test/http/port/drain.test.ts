// A port that drains: it lets what runs finish, and accepts nothing new.
import { once } from "node:events";
import http2 from "node:http2";
import { expect, it } from "vitest";
import {
  certificate,
  connect,
  connectHttp2,
  connectSplitting,
  connectTls,
  EMPTY_SETTINGS,
  GOAWAY,
  get,
  LARGE,
  PREFACE,
  readStream,
  request,
  SOON,
  start,
} from "../../support/port.ts";

it("a drain lets a running HTTP/1.1 request finish, closes idle connections and refuses new ones", async () => {
  for (const tls of [undefined, certificate]) {
    const { app, number, entered, release } = await start({ tls });
    const open = () => (tls ? connectTls(number, "http/1.1") : connect(number));
    const silent = await open();
    const idle = await open();
    idle.socket.write(request("/version"));
    await idle.seen("}");
    const busy = await open();
    const running = entered();
    busy.socket.write(request("/held"));
    await running;

    const closing = app.close();
    await Promise.all([idle.closed, silent.closed]);
    await expect(fetch(`http://127.0.0.1:${number}/version`)).rejects.toThrow();
    release();
    expect(await busy.closed).toMatch(/\r\nConnection: close\r\n(.|\r\n)*{"held":true}$/);
    await closing;
  }
});

it("a drain announces the close with the last pipelined reply", async () => {
  const { port, number, entered, release } = await start();
  const { closed, sendAlone } = await connectSplitting(number);
  const first = entered();
  await sendAlone(request("/held"));
  await first;
  port.beginDrain();
  await sendAlone(request("/held"));
  release();
  const replies = (await closed).split("HTTP/1.1 200 OK");
  expect(replies).toHaveLength(3);
  expect(replies[1]).toContain("Connection: keep-alive");
  expect(replies[2]).toContain("Connection: close");
  expect(replies[2]).toContain('{"held":true}');
});

it("a drain closes a connection after a reply that had begun with keep-alive", async () => {
  const { port, number, release } = await start();
  const { socket, seen, closed } = connect(number);
  socket.write(request("/streamed"));
  expect(await seen("first,")).toContain("Connection: keep-alive");
  port.beginDrain();
  release();
  expect(await closed).toContain("last.");
});

it("a drain cuts no reply that is still being sent", async () => {
  const { port, number } = await start();
  const { socket, seen, closed } = connect(number);
  socket.write(request("/large"));
  await seen("x");
  socket.pause();
  const other = connect(number);
  other.socket.write(request("/version"));
  await other.seen("}");
  port.beginDrain();
  await other.closed;
  socket.resume();
  const [, body] = (await closed).split("\r\n\r\n");
  expect(body?.length).toBe(LARGE);
});

it("a drain serves a request whose head has partly arrived", async () => {
  const { port, number } = await start();
  const { socket, seen, closed } = connect(number);
  socket.write(`${request("/version")}GET /version HTTP`);
  await seen("}");
  socket.write("/1.1\r\nHost:");
  const other = connect(number);
  other.socket.write(request("/version"));
  await other.seen("}");
  port.beginDrain();
  await other.closed;
  socket.write("stoa\r\n\r\n");
  expect(await closed).toMatch(/Connection: close\r\n(.|\r\n)*{"version":"1.1"}$/);
});

it.each(["http", "https"])("a drain sends GOAWAY on HTTP/2 and lets running streams finish (%s)", async (scheme) => {
  const { app, number, port, release } = await start({ tls: scheme === "https" ? certificate : undefined });
  const idle = connectHttp2(number, scheme);
  await readStream(get(idle, "/version"));
  const busy = connectHttp2(number, scheme);
  const stream = get(busy, "/streamed");
  const text = readStream(stream);
  await once(stream, "response");

  const goaways = [idle, busy].map((session) => once(session, "goaway"));
  const closing = app.close();
  for (const goaway of goaways) expect((await goaway)[0]).toBe(http2.constants.NGHTTP2_NO_ERROR);
  await once(idle, "close");
  release();
  expect(await text).toBe("first,last.");
  await closing;
  expect(port.connections).toEqual({ total: 0, http2: 0 });
});

it("a drain ends an HTTP/2 connection whose preface is complete only after the drain began", async () => {
  const { port, number } = await start();
  const { socket, closed, seen, sendAlone } = await connectSplitting(number);
  await sendAlone(PREFACE.slice(0, 10));
  port.beginDrain();
  socket.write(PREFACE.slice(10));
  socket.write(EMPTY_SETTINGS);
  await seen(GOAWAY);
  await closed;
  await port.drained();
  expect(port.connections).toEqual({ total: 0, http2: 0 });
});

it("a drain closes an HTTP/1.1 connection whose protocol is known only after the drain began, with its first reply", async () => {
  const { port, number } = await start();
  const { socket, closed, sendAlone } = await connectSplitting(number);
  await sendAlone("P");
  port.beginDrain();
  socket.write("OST /length HTTP/1.1\r\nHost: stoa\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n[]");
  expect(await closed).toMatch(/Connection: close\r\n(.|\r\n)*{"length":2}$/);
  await port.drained();
});

it("a drain destroys what is stuck after the time limit", async () => {
  const { port, number, app, entered } = await start({ drainTimeoutMs: SOON });
  const running = entered();
  const { socket, closed } = connect(number);
  socket.write(request("/held"));
  await running;
  const stream = get(connectHttp2(number), "/streamed");
  await once(stream, "response");
  const cut = once(stream, "close");
  port.beginDrain();
  port.beginDrain();
  await Promise.all([port.drained(), port.drained()]);
  expect(port.connections).toEqual({ total: 0, http2: 0 });
  expect(await closed).toBe("");
  await cut;
  await app.close();
  await app.close();
});

it("none of many connections stays open", async () => {
  const { number, port } = await start();
  const visit = async (index: number) => {
    if (index % 2 === 0) {
      const { socket, closed } = connect(number);
      socket.write(request("/version", "Connection: close"));
      expect(await closed).toContain('{"version":"1.1"}');
    } else {
      const session = connectHttp2(number);
      expect(await readStream(get(session, "/version"))).toBe('{"version":"2.0"}');
      if (index % 4 === 1) session.close();
      else session.destroy();
      if (!session.destroyed) await once(session, "close");
    }
  };
  await Promise.all(Array.from({ length: 100 }, (_, index) => visit(index)));
  while (port.connections.total > 0) await new Promise(setImmediate);
  expect(port.connections).toEqual({ total: 0, http2: 0 });
});
