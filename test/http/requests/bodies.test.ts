import { once } from "node:events";
import http2 from "node:http2";
import { describe, expect, it } from "vitest";
import { countTurns } from "../../support/event-loop.ts";
import { connect, connectHttp2, readStream } from "../../support/port.ts";
import { type Service, startService } from "../../support/service.ts";

const { NGHTTP2_CANCEL, NGHTTP2_ENHANCE_YOUR_CALM } = http2.constants;
const KIB = 1024;
const path = "/api/v1/agents/register";

const service = await startService();
/** A service whose connections may hold little. */
const narrow = await startService({
  db: service.db,
  config: { maxUnsentBytesPerConnection: 384 * KIB, maxUnsentBytes: 512 * KIB, rateLimits: undefined },
});

let names = 0;
/** A registration of so many bytes. */
function registration(length = 0): string {
  names += 1;
  return JSON.stringify({ name: `agent-${names}` }).padEnd(length);
}

function portOf({ url }: Service): number {
  return Number(new URL(url).port);
}

function open(of: Service): http2.ClientHttp2Session {
  return connectHttp2(portOf(of));
}

function post(session: http2.ClientHttp2Session): http2.ClientHttp2Stream {
  const stream = session.request({ ":method": "POST", ":path": path });
  stream.on("error", () => {});
  return stream;
}

/** Begins a request over HTTP/1.1, and has all of its body sent but the last byte. */
function begin(of: Service, body: string) {
  const connection = connect(portOf(of));
  const head = `POST ${path} HTTP/1.1\r\nHost: stoa\r\nContent-Length: ${body.length}\r\n\r\n`;
  connection.socket.write(head + body.slice(0, -1));
  return { ...connection, end: () => void connection.socket.write(body.slice(-1)) };
}

const codeOf = (stream: http2.ClientHttp2Stream) =>
  new Promise<number>((resolve) => stream.once("close", () => resolve(stream.rstCode)));

describe("bodies that do not arrive whole", () => {
  it("are reset if a connection has too many of them, and its other requests go on", async () => {
    const session = open(narrow);
    const small = post(session);
    const text = registration();
    small.write(text.slice(0, 1));
    const large = Array.from({ length: 4 }, () => post(session));
    for (const stream of large) stream.write(registration(200 * KIB));
    expect(await Promise.race(large.map(codeOf))).toBe(NGHTTP2_ENHANCE_YOUR_CALM);
    expect(await readStream(small.end(text.slice(1)))).toContain('"api_key"');
    expect(large.filter(({ closed }) => !closed).length).toBeGreaterThan(0);
  });

  it("end the connections that hold most if all together hold too much", async () => {
    const small = begin(narrow, registration());
    const large = Array.from({ length: 4 }, () => begin(narrow, registration(200 * KIB)));
    await Promise.race(large.map(({ closed }) => closed));
    small.end();
    expect(await small.seen("api_key")).toContain("HTTP/1.1 201 Created");
  });

  it("no longer count when they are whole, or their connection is closed", async () => {
    for (let round = 0; round < 5; round++) {
      const whole = begin(narrow, registration(150 * KIB));
      whole.end();
      await whole.seen("api_key");
      whole.socket.destroy();
      const half = begin(narrow, registration(150 * KIB));
      while (half.socket.bytesWritten < 150 * KIB) await once(half.socket, "drain");
      half.socket.destroy();
      const session = open(narrow);
      post(session).write(registration(40 * KIB));
      expect(await readStream(post(session).end(registration()))).toContain('"api_key"');
      session.destroy();
    }
  });

  it("do nothing if their client resets them", async () => {
    const session = open(service);
    const text = registration();
    const half = post(session);
    half.write(text.slice(0, -1));
    await readStream(post(session).end(registration()));
    half.close(NGHTTP2_CANCEL);
    await readStream(post(session).end(registration()));
    const { name } = JSON.parse(text);
    expect((await service.rest(`agents/${name}`)).status).toBe(404);
  });
});

describe("a body", () => {
  it("may come over HTTP/2 without a length and a type", async () => {
    const stream = post(open(service));
    const text = registration();
    stream.write(text.slice(0, 2));
    expect(await readStream(stream.end(text.slice(2)))).toContain('"api_key"');
  });

  it("may come in thousands of chunks, and others go on meanwhile", async () => {
    const connections = Array.from({ length: 4 }, () => connect(portOf(service)));
    await Promise.all(connections.map(({ socket }) => once(socket, "connect")));
    const turns = countTurns();
    for (const { socket } of connections) {
      const head = `POST ${path} HTTP/1.1\r\nHost: stoa\r\nTransfer-Encoding: chunked\r\n\r\n`;
      const chunks = Array.from(registration(9_000), (character) => `1\r\n${character}\r\n`).join("");
      socket.write(`${head}${chunks}0\r\n\r\n`);
    }
    for (const { seen } of connections) expect(await seen("api_key")).toContain("HTTP/1.1 201 Created");
    expect(turns()).toBeGreaterThan(6);
  });

  it("does not keep its sender from being refused before it has arrived", async () => {
    const stream = open(service).request({ ":method": "POST", ":path": "/api/v1/posts" });
    const refused = once(stream, "response");
    stream.write("{");
    const [head] = await refused;
    expect(head[":status"]).toBe(401);
    stream.destroy();
  });
});
