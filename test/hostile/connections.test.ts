// Connections that no client makes: idle ones in numbers, garbage, and requests that arrive slowly or never whole.
import { once } from "node:events";
import { brotliCompressSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import {
  connectFrames,
  END_HEADERS,
  type FrameConnection,
  frame,
  frameType,
  get,
  headerBlock,
  ping,
  type ReceivedFrame,
} from "../support/http2-frames.ts";
import { destroy, openMany, type RawConnection, sendHalf } from "./sockets.ts";
import { startVictim, type Victim } from "./support.ts";

/** The neighbour connects from 127.0.0.1. */
const ATTACKER = "127.0.0.2";
/** An attacker with a few addresses. More connections are the work of a proxy. */
const ADDRESSES = Array.from({ length: 12 }, (_, index) => `127.0.1.${index + 1}`);
let victim: Victim;
beforeAll(async () => {
  // Requests that are refused for their number would not be read.
  victim = await startVictim({ STOA_RATE_LIMITS: "off" });
}, 60_000);

const connectMany = (count: number) => openMany(victim.port, count, [ATTACKER]);

/** Resolves when no more than so many connections are open. */
async function untilOpen(connections: RawConnection[], count: number): Promise<void> {
  let open = connections.length;
  await new Promise<void>((resolve) => {
    for (const { closed } of connections) {
      closed.then(() => {
        open -= 1;
        if (open <= count) resolve();
      });
    }
  });
}

describe("the service stays well under connections", { timeout: 60_000 }, () => {
  it("that are idle, all from one address", async () => {
    await victim.during(async () => {
      const connections = await connectMany(2000);
      await untilOpen(connections, 256);
      destroy(connections);
    });
  });

  it("that are closed at once, in a loop", async () => {
    await victim.during(async () => {
      for (let round = 0; round < 20; round++) {
        const connections = await connectMany(100);
        for (const { socket } of connections) round % 2 === 0 ? socket.destroy() : socket.resetAndDestroy();
      }
    });
  });

  it("that begin with something other than a request", async () => {
    await victim.during(async () => {
      const hello = Buffer.from("160301020001000001fc0303", "hex");
      for (const bytes of [hello, Buffer.alloc(1, 0), Buffer.alloc(70_000, 0xff), Buffer.from("\r\n".repeat(20_000))]) {
        const connections = await connectMany(50);
        for (const { socket } of connections) socket.write(bytes);
        destroy(connections.slice(25));
        for (const { socket } of connections.slice(0, 25)) socket.end();
        await untilOpen(connections, 0);
      }
    });
  });

  it("whose request head or body arrives byte by byte", async () => {
    await victim.during(async () => {
      const post = "POST /api/v1/posts HTTP/1.1\r\nHost: stoa\r\nTransfer-Encoding: chunked\r\n\r\n";
      for (const [head, piece] of [
        ["GET / HTTP/1.1\r\nHost: stoa\r\nX-Slow: ", "x"],
        [post, "1\r\nx\r\n"],
        ["PRI * HTTP/2.0\r\n\r\n", ""],
      ] as const) {
        const connections = await connectMany(100);
        for (const { socket } of connections) socket.write(head);
        for (let count = 0; count < 200; count++) {
          for (const { socket } of connections) if (socket.writable) socket.write(piece);
          await new Promise(setImmediate);
        }
        destroy(connections);
      }
    });
  });
});

// mixed.test.ts has heads that never end.
describe("fifty thousand HTTP/2 requests on hundreds of connections", { timeout: 60_000 }, () => {
  const ids = Array.from({ length: 128 }, (_, index) => 2 * index + 1);
  const json = { "content-type": "application/json" };

  it.each([
    ["of different reads", (id: number) => get(id, `/api/v1/posts?limit=5&offset=${id}`)],
    ["whose bodies are missing", (id: number) => frame(frameType.headers, END_HEADERS, id, post(json))],
    ["whose keys are unknown", (id: number) => get(id, "/api/v1/agents/me", { authorization: `Bearer stoa_${id}` })],
    ["that open streams", (id: number) => get(id, "/api/v1/house/receipts/stream?follow=true")],
  ])("%s", async (_name, request) => {
    await victim.during(async () => {
      const requests = Buffer.concat(ids.map(request));
      const connections: FrameConnection[] = [];
      for (const address of ADDRESSES) {
        const batch = Array.from({ length: 32 }, () => connectFrames(victim.port, {}, address));
        for (const { socket } of batch) socket.write(Buffer.concat([requests, ping]));
        await Promise.all(batch.map(({ socket, closed }) => Promise.race([once(socket, "connect"), closed])));
        connections.push(...batch);
      }
      const isPing = ({ type }: ReceivedFrame) => type === frameType.ping;
      await Promise.all(connections.map(({ received }) => received(isPing)));
      destroy(connections);
    });
  });

  function post(fields: Record<string, string>): Buffer {
    return headerBlock("POST", "/api/v1/posts", { authorization: `Bearer ${victim.key}`, ...fields });
  }
});

describe("half-sent bodies", { timeout: 60_000 }, () => {
  const json = { "content-type": "application/json" };
  const half = [Buffer.alloc(16_384, 32), Buffer.alloc(16_384, 32)];
  const small = brotliCompressSync(Buffer.alloc(250_000, 32));

  it.each([
    ["REST", "/api/v1/posts", json, half],
    [
      "gRPC",
      "/stoa.v1.PostService/CreatePost",
      { "content-type": "application/grpc", te: "trailers" },
      [Buffer.from([0, 0, 0, 0x40, 0]), Buffer.alloc(16_000, 32)],
    ],
    ["compressed REST", "/api/v1/posts", { ...json, "content-encoding": "br" }, [small]],
  ])("are bounded over %s", async (_name, path, fields, parts) => {
    const before = victim.residentMiB();
    const all = { authorization: `Bearer ${victim.key}`, ...fields } as Record<string, string>;
    await victim.during(async () => destroy(await sendHalf(victim.port, 256, { path, fields: all, parts })));
    expect(victim.residentMiB() - before).toBeLessThan(150);
  });

  it("are bounded over HTTP/1.1 in chunks of one byte", async () => {
    await victim.during(async () => {
      const connections = await connectMany(200);
      const head = "POST /api/v1/posts HTTP/1.1\r\nHost: stoa\r\nTransfer-Encoding: chunked\r\n";
      const auth = `Authorization: Bearer ${victim.key}\r\n\r\n`;
      for (const { socket } of connections) socket.write(head + auth + "1\r\n \r\n".repeat(20_000));
      expect((await fetch(`${victim.url}/healthz`)).status).toBe(200);
      destroy(connections);
    });
  });
});
