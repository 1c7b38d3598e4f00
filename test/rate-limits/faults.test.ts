// What counts as a faulty request of an address, and what does not: aborted requests, 429s, 503s.
import { once } from "node:events";
import { type ClientHttp2Session, type ClientHttp2Stream, connect as connectHttp2, constants } from "node:http2";
import { connect } from "node:net";
import { beforeEach, describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import type { MemoryUse } from "../../src/process/memory.ts";
import { defaultQuotas } from "../../src/rate-limits/quota.ts";
import { type Limited, startLimited } from "../support/limited.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const refusals = { calls: 3, windowSeconds: 3600 };
const more = refusals.calls + 2;
const rpcPath = "/stoa.v1.PostService/ListPosts";

const service = await startLimited({ refusals });
beforeEach(() => {
  // Everything is regained by then.
  service.clock.pass(3600);
  service.log.length = 0;
});

/** How many faulty requests the address may still make. */
async function remaining(at: Pick<Limited, "rest"> = service): Promise<number> {
  // A preflight reports the limit, and spends nothing.
  const { headers } = await at.rest("feed", { method: "OPTIONS" });
  const state = /^"refusals";r=(\d+);/.exec(headers.get("ratelimit") ?? "");
  if (state === null) throw new Error(`There is no state of refusals in ${headers.get("ratelimit")}.`);
  return Number(state[1]);
}

describe("an aborted request does not count as faulty", () => {
  /** Resolves when the service has noticed that so many RPCs were aborted. */
  const untilAborted = (count: number) =>
    waitUntil("the service to notice", () => {
      const lines = service.log.filter(({ msg, route }) => route === rpcPath && String(msg).startsWith("request"));
      return new Set(lines.map(({ reqId }) => reqId)).size === count;
    });

  it.each([
    ["resets the stream", (_: ClientHttp2Session, stream: ClientHttp2Stream) => stream.close(constants.NGHTTP2_CANCEL)],
    ["closes the connection", (session: ClientHttp2Session) => session.destroy()],
  ])("over HTTP/2, if the client %s before the message is complete", async (_what, leave) => {
    for (let count = 0; count < more; count++) {
      const session = connectHttp2(service.url);
      await once(session, "connect");
      const headers = { ":path": rpcPath, ":method": "POST", "content-type": "application/grpc", te: "trailers" };
      const stream = session.request(headers);
      stream.on("error", () => {});
      stream.write(Buffer.from([0, 0, 0, 0, 9, 1]));
      // The service has begun the call when it answers what was sent after it.
      await ping(session);
      leave(session, stream);
      if (!session.destroyed) session.close();
    }
    await untilAborted(more);
    expect(await remaining()).toBe(refusals.calls);
  });

  it("over HTTP/1.1, if the message was never complete", async () => {
    for (let count = 0; count < more; count++) {
      const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
      socket.on("error", () => {});
      const head = `POST ${rpcPath} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/proto\r\n`;
      socket.write(`${head}Content-Length: 100\r\nExpect: 100-continue\r\n\r\n`);
      // The service has begun the call when it asks for the rest.
      await new Promise((resolve) => socket.once("data", resolve));
      socket.write("\n\x01");
      socket.destroy();
    }
    await untilAborted(more);
    expect(await remaining()).toBe(refusals.calls);
  });

  it("but a message that is complete and cannot be decoded does", async () => {
    const session = connectHttp2(service.url);
    for (const [type, bytes] of [
      ["application/grpc", [0, 0, 0, 0, 1, 255]],
      ["application/proto", [255]],
    ] as const) {
      const headers = { ":path": rpcPath, ":method": "POST", "content-type": type, te: "trailers" };
      const stream = session.request(headers);
      stream.end(Buffer.from(bytes));
      await stream.toArray();
    }
    await waitUntil("both to count", async () => (await remaining()) === refusals.calls - 2);
    session.close();
  });

  it.each(["grpc-web", "connect"] as const)("and so does a message that is too large: %s", async (protocol) => {
    const large = { cursor: "x".repeat(262_145) };
    for (let count = 0; count < 2; count++) {
      await expect(service.connect(PostService, protocol).listPosts(large)).rejects.toThrow("too large");
    }
    await waitUntil("both to count", async () => (await remaining()) === refusals.calls - 2);
  });
});

function ping(session: ClientHttp2Session): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  session.ping((error) => (error ? reject(error) : resolve()));
  return promise;
}

it("a 429 of any limit does not count as faulty", async () => {
  const once = { calls: 1, windowSeconds: 3600 };
  const quotas = { refusals, reads: once, registrations: once, credentials: once };
  const limited = await startLimited(quotas, { db: service.db });
  const guess = `stoa_${"A".repeat(43)}`;
  const register = () =>
    limited.rest("agents/register", { body: { name: `agent-${crypto.randomUUID().slice(0, 8)}` } });
  expect((await register()).status).toBe(201);
  expect((await limited.rest("agents/me", { key: guess })).status).toBe(401);
  const before = await remaining(limited);
  for (let count = 0; count < more; count++) {
    expect((await register()).status).toBe(429);
    expect((await limited.rest("feed")).status).toBe(429);
    expect((await limited.rest("agents/me", { key: guess })).status).toBe(429);
    await expect(limited.connect(PostService, "grpc").listPosts({})).rejects.toThrow("Too many");
  }
  expect(await remaining(limited)).toBe(before);
});

it("a 503 does not count as faulty", async () => {
  const use: MemoryUse = { heapLive: 0, heapLimit: 100, resident: 0, external: 0 };
  const short = await startService({
    db: service.db,
    config: { rateLimits: { ...defaultQuotas, refusals }, overload: { heapShare: 0.8, residentBytes: undefined } },
    overrides: { memory: { read: () => ({ ...use }), close() {} } },
  });
  const untilLogged = (message: string) => waitUntil(message, () => short.log.some(({ msg }) => msg === message));
  use.heapLive = 90;
  await untilLogged("short of memory: new work is refused");
  for (let count = 0; count < more; count++) {
    expect((await short.rest("feed")).status).toBe(503);
    expect((await fetch(`${short.url}/`)).status).toBe(503);
    await expect(short.connect(PostService, "grpc").listPosts({})).rejects.toThrow("short of memory");
  }
  use.heapLive = 0;
  await untilLogged("no longer short of memory");
  expect(await remaining(short)).toBe(refusals.calls);
});
