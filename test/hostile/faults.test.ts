// Connections that break at every point of an exchange, over every protocol: none of it may reach the process as an
// exception or a rejection that nothing caught, which would end it.
import { writeFileSync } from "node:fs";
import http2 from "node:http2";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls, type TLSSocket } from "node:tls";
import { brotliCompressSync, gzipSync } from "node:zlib";
import { generate } from "selfsigned";
import { describe, expect, it } from "vitest";
import { afterFile } from "../support/after-file.ts";
import { createTestDatabase } from "../support/database.ts";
import { envelope, frame as frameOf, PREFACE } from "../support/http2-frames.ts";
import { faultsIn, ServiceProcess, urlOf } from "../support/process.ts";
import { rawRequest } from "../support/raw-request.ts";
import { scratchFolder } from "../support/scratch-folder.ts";
import { startVictim } from "./support.ts";

const crlf = "\r\n";
const text = JSON.stringify({ title: "A title", body: "words ".repeat(400) });
const frame = (type: number, flags: number, stream: number, payload: number[] = []) =>
  frameOf(type, flags, stream, Buffer.from(payload));

/** A whole HTTP/1.1 request. */
function request(line: string, headers: string[], body: string | Buffer = ""): Buffer {
  const length = headers.some((header) => /^transfer-encoding/i.test(header))
    ? []
    : [`Content-Length: ${Buffer.byteLength(body)}`];
  const head = [`${line} HTTP/1.1`, "Host: stoa.test", ...length, ...headers].join(crlf);
  return Buffer.concat([Buffer.from(`${head}${crlf}${crlf}`), Buffer.from(body)]);
}

/** Requests whose replies or bodies go through every kind of stream that the service has. */
function requests(key: string): Buffer[] {
  const auth = `Authorization: Bearer ${key}`;
  const post = (headers: string[], body: string | Buffer) => request("POST /api/v1/posts", [auth, ...headers], body);
  const rpc = (path: string, type: string, headers: string[], body: Buffer) =>
    request(`POST ${path}`, [auth, `Content-Type: ${type}`, ...headers], body);
  const create = "/stoa.v1.PostService/CreatePost";
  const receipts = "/stoa.v1.LedgerService/StreamReceipts";
  return [
    post([], text),
    post(["Expect: 100-continue"], text),
    post(["Content-Encoding: gzip"], gzipSync(text).subarray(0, -9)),
    post(["Content-Encoding: gzip"], Buffer.from(`\x1f\x8b\x08${"\0".repeat(40)}`, "latin1")),
    post(["Content-Encoding: br"], Buffer.alloc(300, 0xff)),
    post(["Content-Encoding: deflate"], gzipSync(text)),
    post(["Content-Encoding: gzip, br"], brotliCompressSync(gzipSync(text))),
    post(["Transfer-Encoding: chunked"], `5${crlf}{"tit${crlf}zz${crlf}`),
    post(["Transfer-Encoding: chunked", "Trailer: A"], `2${crlf}{}${crlf}0${crlf}A: b${crlf}: no name${crlf}${crlf}`),
    rpc(create, "application/json", ["Content-Encoding: gzip"], gzipSync(text).subarray(0, 30)),
    rpc(create, "application/proto", ["Connect-Timeout-Ms: 1"], Buffer.from([0x0a, 0xff, 0xff])),
    rpc(create, "application/grpc-web+proto", [], envelope(gzipSync(text).subarray(0, 20), 1)),
    rpc(create, "application/grpc-web-text", [], Buffer.from("not base64 !!")),
    rpc(receipts, "application/connect+json", [], envelope(Buffer.from('{"follow": true}'), 0)),
    rpc(receipts, "application/grpc-web+proto", [], envelope(Buffer.from("grpc-status: 0"), 0x80)),
    ...["/", "/docs", "/feed.xml", "/api/v1/openapi.json", "/house/verify?from=0"].map((path) =>
      request(`GET ${path}`, ["Accept-Encoding: gzip"]),
    ),
    request("GET /api/v1/house/receipts/stream?follow=true", ["Accept-Encoding: gzip"]),
    request("GET /api/v1/house/receipts/stream?follow=true", ["Accept: text/event-stream"]),
    request("CONNECT stoa.test:443", []),
    request("GET /", ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABk"]),
    request("GET /", ["Connection: Upgrade", "Upgrade: websocket"], "\x81\x85"),
  ];
}

/** Opens a connection, lets `work` have it, and resolves when it is closed. */
function withSocket(open: () => Socket | TLSSocket, work: (socket: Socket) => void): Promise<void> {
  return new Promise((resolve) => {
    const socket = open();
    const late = setTimeout(() => socket.destroy(), 2_000);
    socket.on("error", () => {});
    socket.once("close", () => {
      clearTimeout(late);
      resolve();
    });
    socket.once("connect", () => work(socket));
  });
}

/** Runs tasks, a few at a time. */
async function each<Task>(tasks: readonly Task[], work: (task: Task) => Promise<void>): Promise<void> {
  const queue = [...tasks];
  const worker = async () => {
    for (let task = queue.shift(); task !== undefined; task = queue.shift()) await work(task);
  };
  await Promise.all(Array.from({ length: 8 }, worker));
}

describe("the service survives broken connections", () => {
  it("over HTTP/1.1, in the middle of a request, before its reply, and in the middle of that", async () => {
    const victim = await startVictim({ STOA_RATE_LIMITS: "off" });
    const all = requests(victim.key);
    const cuts = all.flatMap((bytes) => [0.2, 0.6, 0.95, 1].map((share) => [bytes, share] as const));
    const open = () => connect(victim.port, "127.0.0.1");
    await victim.during(async () => {
      for (const how of ["reset", "end"] as const) {
        await each(cuts, ([bytes, share]) =>
          withSocket(open, (socket) => {
            const part = bytes.subarray(0, Math.ceil(bytes.length * share));
            socket.write(part, () => (how === "reset" ? socket.resetAndDestroy() : socket.end()));
            socket.resume();
          }),
        );
      }
      // The first bytes of the reply are there; the rest has nowhere to go.
      await each([...all, ...all], (bytes) =>
        withSocket(open, (socket) => {
          socket.write(bytes);
          socket.once("data", () => socket.resetAndDestroy());
          setTimeout(() => socket.resetAndDestroy(), 300);
        }),
      );
    });
  });

  it("over HTTP/2, by frames that are malformed and streams that are reset", async () => {
    const victim = await startVictim({ STOA_RATE_LIMITS: "off" });
    // :method POST, :scheme http, :path /, from the static table of HPACK.
    const headers = [0x83, 0x86, 0x84];
    const broken = [
      frame(1, 4, 1, [0xff, 0xff, 0xff, 0xff, 0xff]),
      Buffer.concat([frame(1, 4, 1, headers), frame(0, 0, 1, [1, 2]), frame(1, 5, 1, [0x40, 1, 0x41, 1, 0x62])]),
      Buffer.concat([frame(1, 4, 1, headers), frame(3, 0, 1, [0, 0, 0, 8]), frame(0, 1, 1, [1])]),
      Buffer.concat([frame(1, 0, 1, headers), frame(0, 0, 1, [1])]),
      frame(9, 4, 1, headers),
      frame(8, 0, 0, [0, 0, 0, 0]),
      frame(8, 0, 0, [0x7f, 0xff, 0xff, 0xff]),
      frame(4, 0, 0, [0, 4, 0xff, 0xff, 0xff, 0xff]),
      frame(6, 0, 0, [1]),
      Buffer.alloc(200, 0xff),
    ];
    const calls = [
      { ":path": "/api/v1/posts", ":method": "POST", "content-encoding": "gzip" },
      { ":path": "/api/v1/openapi.json", "accept-encoding": "gzip" },
      { ":path": "/api/v1/house/receipts/stream?follow=true" },
      { ":path": "/", "accept-encoding": "br" },
      ...["application/grpc", "application/grpc-web+proto", "application/connect+proto"].flatMap((type) =>
        ["stoa.v1.LedgerService/StreamReceipts", "grpc.health.v1.Health/Watch", "stoa.v1.PostService/CreatePost"].map(
          (path) => ({ ":path": `/${path}`, ":method": "POST", "content-type": type, te: "trailers" }),
        ),
      ),
    ];
    await victim.during(async () => {
      await each([...broken, ...broken.map((bytes) => bytes.subarray(0, -1))], (bytes) =>
        withSocket(
          () => connect(victim.port, "127.0.0.1"),
          (socket) => {
            socket.resume();
            socket.write(Buffer.concat([Buffer.from(PREFACE), frame(4, 0, 0), bytes]));
            setTimeout(() => socket.resetAndDestroy(), 100);
          },
        ),
      );
      for (const give of ["reset", "trailers", "session"] as const) {
        await each(calls, (head) => cutCall(victim.url, head, victim.key, give));
      }
    });
  });

  it("in a TLS handshake and after it", async () => {
    const folder = scratchFolder();
    const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }]);
    for (const [name, pem] of Object.entries({ cert, key })) writeFileSync(join(folder, name), pem);
    const { config } = await createTestDatabase();
    const service = new ServiceProcess({
      STOA_DATABASE_URL: urlOf(config),
      STOA_TLS_CERT: join(folder, "cert"),
      STOA_TLS_KEY: join(folder, "key"),
      STOA_RATE_LIMITS: "off",
      STOA_LOG_LEVEL: "warn",
    });
    afterFile(() => service.end("SIGINT"));
    const port = Number(new URL(await service.url()).port);
    const hello = Buffer.from("16030100a5010000a10303", "hex");
    const starts = [
      hello,
      Buffer.from("GET / HTTP/1.1\r\n\r\n"),
      Buffer.from(PREFACE),
      Buffer.alloc(600, 0x16),
      Buffer.alloc(0),
    ];
    await each([...starts, ...starts], (bytes) =>
      withSocket(
        () => connect(port, "127.0.0.1"),
        (socket) => {
          socket.resume();
          socket.write(bytes);
          setTimeout(() => socket.resetAndDestroy(), 50);
        },
      ),
    );
    const options = { port, host: "127.0.0.1", servername: "localhost", rejectUnauthorized: false };
    for (const ALPNProtocols of [["h2"], ["http/1.1"], ["nonsense"], []]) {
      await each(requests("no-key").slice(0, 24), (bytes) =>
        withSocket(
          () => connectTls({ ...options, ALPNProtocols }),
          (socket) => {
            socket.resume();
            socket.once("secureConnect", () => socket.write(bytes, () => setTimeout(() => socket.destroy(), 20)));
          },
        ),
      );
    }
    const { status } = await rawRequest(`https://127.0.0.1:${port}/healthz`, { rejectUnauthorized: false });
    expect(status).toBe(200);
    expect(faultsIn(service.output)).toEqual([]);
  });
});

/** Begins a call over HTTP/2 and breaks it off in one of three ways. */
function cutCall(
  url: string,
  head: http2.OutgoingHttpHeaders,
  key: string,
  how: "reset" | "trailers" | "session",
): Promise<void> {
  return new Promise((resolve) => {
    const session = http2.connect(url);
    session.on("error", () => {});
    session.once("close", resolve);
    const call = session.request(
      { authorization: `Bearer ${key}`, ...head },
      { endStream: false, waitForTrailers: true },
    );
    call.on("error", () => {});
    call.on("wantTrailers", () => call.sendTrailers({ "grpc-status": "not a number", "x-broken": "\u00ff" }));
    // A message that is compressed as it says, and then is not.
    call.write(Buffer.concat([Buffer.from([1, 0, 0, 0, 30]), gzipSync("{}").subarray(0, 12)]));
    const cut = () => {
      if (how === "session") session.destroy();
      else if (how === "reset") call.close(http2.constants.NGHTTP2_INTERNAL_ERROR);
      else call.end();
      setTimeout(() => session.destroy(), 100);
    };
    call.once("response", cut);
    setTimeout(cut, 60);
  });
}
