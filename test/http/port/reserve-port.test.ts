// What the port answers before the service is up, and what happens when it cannot be had.
import { once } from "node:events";
import http2 from "node:http2";
import net, { type AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import * as grpc from "@grpc/grpc-js";
import { generate } from "selfsigned";
import { afterEach, describe, expect, it, vi } from "vitest";
import { ErrorDetailSchema } from "../../../gen/stoa/v1/error_pb.js";
import { LedgerService } from "../../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../../gen/stoa/v1/post_service_pb.js";
import { reservePort } from "../../../src/http/port/reserve-port.ts";
import { createTestDatabase } from "../../support/database.ts";
import { freePort } from "../../support/free-port.ts";
import { rawRequest } from "../../support/raw-request.ts";
import { askRest, startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";

const cleanUps: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

/** The Connect error with which a call fails. */
async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  return call.then(
    () => {
      throw new Error("the call did not fail");
    },
    (error) => ConnectError.from(error),
  );
}

describe("a service that is starting", () => {
  it("answers 503 with a wait, is alive, and loses no connection when it comes up", async () => {
    const db = await createTestDatabase();
    // Another replica migrates: the start waits for it.
    await db.pool.query("CREATE TABLE schema_lease (id INT PRIMARY KEY, holder VARCHAR(36), expires_at BIGINT)");
    await db.pool.query("INSERT INTO schema_lease VALUES (1, 'another', UNIX_TIMESTAMP() + 3600)");
    const port = await freePort();
    const url = `http://127.0.0.1:${port}`;
    const starting = startService({ db, config: { port } });
    let first: Awaited<ReturnType<typeof rawRequest>> | undefined;
    while (first === undefined) {
      first = await rawRequest(`${url}/api/v1/posts`, { headers: { "x-request-id": "early" } }).catch(() => undefined);
    }
    expect(first.status).toBe(503);
    expect(first.headers).toMatchObject({ "retry-after": "1", "x-request-id": "early", connection: "close" });
    expect(JSON.parse(first.body.toString())).toEqual({
      ok: false,
      error: "unavailable",
      message: "The service is starting.",
      retry_after_seconds: 1,
    });
    expect((await rawRequest(`${url}/readyz`)).status).toBe(503);
    expect((await rawRequest(`${url}/healthz`)).status).toBe(200);
    const longPost = await fetch(`${url}/api/v1/posts`, { method: "POST", body: "x".repeat(1_000_000) });
    expect([longPost.status, longPost.headers.get("retry-after")]).toEqual([503, "1"]);
    const session = http2.connect(url);
    const ended = once(session, "close");
    const [head] = await once(session.request({ ":path": "/api/v1/posts" }).resume(), "response");
    expect(head).toMatchObject({ ":status": 503, "retry-after": "1" });
    const transports = [
      createGrpcTransport({ baseUrl: url }),
      createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" }),
      createConnectTransport({ baseUrl: url, httpVersion: "2" }),
      createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: false }),
    ];
    for (const transport of transports) {
      const failures = [
        await failureOf(createClient(PostService, transport).listPosts({})),
        await failureOf(createClient(PostService, transport).createPost({ title: "Too early" })),
      ];
      for (const failure of failures) {
        expect([failure.code, failure.rawMessage]).toEqual([Code.Unavailable, "The service is starting."]);
        const [detail] = failure.findDetails(ErrorDetailSchema);
        expect(detail).toMatchObject({ error: "unavailable", retryAfterSeconds: 1n });
      }
      const stream = createClient(LedgerService, transport).streamReceipts({})[Symbol.asyncIterator]();
      expect((await failureOf(stream.next())).code).toBe(Code.Unavailable);
    }
    const grpcJs = new grpc.Client(`127.0.0.1:${port}`, grpc.credentials.createInsecure());
    cleanUps.push(() => grpcJs.close());
    const callGrpcJs = () => {
      const raw = (bytes: Buffer) => bytes;
      return new Promise<grpc.ServiceError | null>((resolve) => {
        grpcJs.makeUnaryRequest("/stoa.v1.PostService/ListPosts", raw, raw, Buffer.alloc(0), resolve);
      });
    };
    expect(await callGrpcJs()).toMatchObject({ code: 14, details: "The service is starting." });

    await db.pool.query("UPDATE schema_lease SET expires_at = 0");
    // Not one of them is refused or reset while the socket changes hands.
    const statuses = [first.status];
    while (statuses.at(-1) === 503) statuses.push((await rawRequest(`${url}/api/v1/posts`)).status);
    expect(statuses.at(-1)).toBe(200);
    const service = await starting;
    expect(service.url).toBe(url);
    // HTTP/2 clients are told to connect again, and the same clients go on once they have heard it.
    await ended;
    for (const transport of transports) {
      const { listPosts } = createClient(PostService, transport);
      const isServed = () =>
        listPosts({}).then(
          () => true,
          (error) => {
            expect(ConnectError.from(error).rawMessage).toBe("The service is starting.");
            return false;
          },
        );
      await waitUntil("the client to go on", isServed);
    }
    await waitUntil("the client to go on", async () => (await callGrpcJs()) === null);
  });
});

describe("a reserved port", () => {
  it("is released by close", async () => {
    const port = await freePort();
    for (let time = 0; time < 2; time++) {
      const reserved = await reservePort({ host: "127.0.0.1", port });
      await reserved.close();
    }
  });

  it("is released by close although a client keeps its connection open", async () => {
    const reserved = await reservePort({ host: "127.0.0.1", port: 0 });
    const socket = net.connect(reserved.port, "127.0.0.1");
    cleanUps.push(() => socket.destroy());
    await once(socket, "connect");
    socket.on("error", () => {});
    await reserved.close();
  });

  it("ends the connections from before at close, also if its socket was given away a moment before", async () => {
    // No time limit ends them.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    cleanUps.push(() => vi.useRealTimers());
    const reserved = await reservePort({ host: "127.0.0.1", port: 0 });
    const session = http2.connect(`http://127.0.0.1:${reserved.port}`).on("error", () => {});
    cleanUps.push(() => session.destroy());
    await once(session, "remoteSettings");
    const closed = once(session, "close");
    const server = net.createServer().listen(reserved.transferSocket());
    cleanUps.push(() => server.close());
    await reserved.close();
    await closed;
  });

  it("speaks TLS if the service will", async () => {
    const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }]);
    const reserved = await reservePort({ host: "127.0.0.1", port: 0 }, { cert, key });
    cleanUps.push(() => reserved.close());
    const socket = connectTls({ port: reserved.port, host: "127.0.0.1", rejectUnauthorized: false });
    cleanUps.push(() => socket.destroy());
    socket.end("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    const [reply] = await once(socket, "data");
    expect(String(reply)).toMatch(/^HTTP\/1\.1 503 /);
    const session = http2.connect(`https://127.0.0.1:${reserved.port}`, { rejectUnauthorized: false });
    cleanUps.push(() => session.destroy());
    const [head] = await once(session.request().resume(), "response");
    expect(head[":status"]).toBe(503);
  });

  it("that another program uses stops the start before the database is touched", async () => {
    const other = net.createServer().listen(0, "127.0.0.1");
    cleanUps.push(() => other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const db = await createTestDatabase();
    await expect(startService({ db, config: { port } })).rejects.toThrow(
      `port ${port} of 127.0.0.1 is in use by another program; stop it or set STOA_PORT`,
    );
    expect(await db.rows("SHOW TABLES")).toEqual([]);
  });

  it.each([
    ["203.0.113.1", /^203\.0\.113\.1 is not an address of this machine; set STOA_HOST$/],
    ["no-such-host.invalid", /^[^\n]+$/],
  ])("on %s is refused with one line", async (host, message) => {
    await expect(reservePort({ host, port: 0 })).rejects.toThrow(message);
  });

  it("can be reserved on a name with several addresses", async () => {
    const { url } = await startService({ config: { host: "localhost" } });
    expect((await askRest(url, "/healthz")).status).toBe(200);
  });
});
