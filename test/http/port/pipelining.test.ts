import type net from "node:net";
import { finished } from "node:stream";
import type { FastifyInstance } from "fastify";
import { describe, expect, it } from "vitest";
import { certificate, connect, connectTls, onConnection, request, SOON, start } from "../../support/port.ts";

const post = (body: string) =>
  `POST /length HTTP/1.1\r\nHost: stoa\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

/** A route that takes a turn of the event loop or two, and remembers how many requests were in it at a time. */
function addTurn(app: FastifyInstance, seen: { atOnce: number; largest: number }) {
  app.get("/turn", async () => {
    seen.atOnce += 1;
    seen.largest = Math.max(seen.largest, seen.atOnce);
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    seen.atOnce -= 1;
    return { turn: true };
  });
}

/** Longer than a busy machine takes to read a request that has been sent. */
const LIMIT = 6 * SOON;

describe("pipelined requests", () => {
  it("are handled one at a time and answered in order, including their bodies", async () => {
    for (const tls of [undefined, certificate]) {
      const turns = { atOnce: 0, largest: 0 };
      const { number } = await start({ tls }, (app) => addTurn(app, turns));
      const { socket, seen } = tls ? await connectTls(number, "http/1.1") : connect(number);
      // Together more than Node reads at a time.
      const bodies = Array.from({ length: 60 }, (_, index) => JSON.stringify("x".repeat(index * 100)));
      socket.write(bodies.map((body) => request("/turn") + post(body)).join("") + request("/version"));
      const replies = (await seen('{"version":"1.1"}')).split("HTTP/1.1 200 OK").slice(1);
      expect(replies.map((reply) => reply.slice(reply.indexOf("\r\n\r\n") + 4))).toEqual([
        ...bodies.flatMap(({ length }) => ['{"turn":true}', `{"length":${length}}`]),
        '{"version":"1.1"}',
      ]);
      expect(turns.largest).toBe(1);
    }
  });

  it("are the same requests wherever the bytes are split", async () => {
    const { number } = await start({}, (app) => addTurn(app, { atOnce: 0, largest: 0 }));
    const chunked =
      "POST /length HTTP/1.1\r\nHost: stoa\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n[1,\r\n2\r\n2]\r\n0\r\n\r\n";
    const bytes = request("/turn") + chunked + post('"four"') + request("/turn") + request("/version");
    for (let cut = 1; cut < bytes.length; cut += 3) {
      const { socket, seen } = connect(number);
      socket.setNoDelay(true);
      await new Promise((resolve) => socket.write(bytes.slice(0, cut), resolve));
      socket.write(bytes.slice(cut));
      const text = await seen('{"version":"1.1"}');
      expect(text.match(/{".*?}/g)).toEqual([
        '{"turn":true}',
        '{"length":5}',
        '{"length":6}',
        '{"turn":true}',
        '{"version":"1.1"}',
      ]);
      socket.destroy();
    }
  });

  it("are not read while another one is running", async () => {
    const { number, entered, release } = await start();
    const accepted = new Promise<net.Socket>((resolve) => onConnection(number, resolve));
    const { socket, seen } = connect(number);
    const server = await accepted;
    const first = entered();
    socket.write(request("/held"));
    await first;
    const many = 200_000;
    socket.write(request("/version").repeat(many));
    const others = connect(number);
    for (let turn = 1; turn <= 20; turn++) {
      others.socket.write(request("/version"));
      await others.seen("}", turn);
    }
    expect(server.bytesRead).toBeLessThan(300_000);
    release();
    await seen('{"version":"1.1"}', 100);
  });

  it("are not answered after a reply that closes the connection", async () => {
    const { number } = await start();
    const { socket, closed } = connect(number);
    socket.write(request("/version") + request("/version", "Connection: close") + request("/version").repeat(3));
    expect((await closed).split("HTTP/1.1 200 OK")).toHaveLength(3);
  });

  it("are answered before garbage is refused", async () => {
    const { number } = await start({}, (app) => addTurn(app, { atOnce: 0, largest: 0 }));
    const { socket, closed } = connect(number);
    socket.write(`${request("/turn").repeat(2)}garbage\r\n\r\n${request("/turn")}`);
    const replies = (await closed).split("HTTP/1.1 ").slice(1);
    expect(replies.map((reply) => reply.slice(0, 3))).toEqual(["200", "200", "400"]);
  });

  it("end with the connection if a request for a tunnel follows", async () => {
    const left = Promise.withResolvers<void>();
    const { number } = await start({}, (app) => {
      app.get("/watched", (_request, reply) => {
        finished(reply.hijack().raw, () => left.resolve());
      });
    });
    const { socket, closed } = connect(number);
    socket.write(`${request("/watched")}CONNECT stoa:443 HTTP/1.1\r\nHost: stoa\r\n\r\n`);
    expect(await closed).toBe("");
    await left.promise;
  });

  it("have no time limit while they wait", async () => {
    const { number, entered, release } = await start({ headersTimeoutMs: LIMIT, requestTimeoutMs: LIMIT });
    const { socket, seen } = connect(number);
    const first = entered();
    socket.write(request("/held") + post('"waits"') + request("/version"));
    await first;
    // Another connection that is cut for its slowness has been slow for longer than the limit.
    const slow = connect(number);
    slow.socket.write("GET /version HTTP/1.1\r\nHost:");
    await slow.closed;
    release();
    expect(await seen('{"version":"1.1"}')).toContain('{"length":7}');
  });

  it("are cut after they have waited if their body never comes", async () => {
    const { number, entered, release } = await start({ headersTimeoutMs: LIMIT, requestTimeoutMs: LIMIT });
    const { socket, closed } = connect(number);
    const first = entered();
    socket.write(request("/held") + post('"never"').slice(0, -2));
    await first;
    const slow = connect(number);
    slow.socket.write("GET /version HTTP/1.1\r\nHost:");
    await slow.closed;
    release();
    expect(await closed).toContain('{"held":true}');
  });
});
