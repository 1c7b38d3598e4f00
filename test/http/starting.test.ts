// What a service answers before it is up, and what happens when its port cannot be had.
import { once } from "node:events";
import http2 from "node:http2";
import net, { type AddressInfo } from "node:net";
import { connect as connectTls } from "node:tls";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { RetryInfoSchema } from "../../gen/google/rpc/error_details_pb.js";
import { ErrorDetailSchema } from "../../gen/stoa/v1/error_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { afterTest } from "../support/after-test.ts";
import { createDatabaseWithSchema, createTestDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { certificate } from "../support/port.ts";
import { rawRequest } from "../support/raw-request.ts";
import { askRest, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

/** The database of all services that start here. */
const db = await createDatabaseWithSchema();

/** The Connect error with which a call fails. */
async function failureOf(call: Promise<unknown>): Promise<ConnectError> {
  return call.then(
    () => {
      throw new Error("the call did not fail");
    },
    (error) => ConnectError.from(error),
  );
}

/** Begins a start that waits, as another replica migrates the database; `goOn` ends the wait. */
async function beginStart(config: NonNullable<Parameters<typeof startService>[0]>["config"]) {
  await db.rows("UPDATE schema_migrations SET finished = 0 WHERE version = 1");
  await db.rows("UPDATE schema_lease SET holder = 'another', expires_at = UNIX_TIMESTAMP() + 3600");
  const port = await freePort();
  const starting = startService({ db, config: { port, ...config } });
  const goOn = async () => {
    await db.rows("UPDATE schema_migrations SET finished = 1");
    await db.rows("UPDATE schema_lease SET expires_at = 0");
  };
  return { port, starting, goOn };
}

describe("a service that is starting", () => {
  it("answers 503 with a wait, is alive, and loses no connection when it comes up", async () => {
    const { port, starting, goOn } = await beginStart({ siteUrl: "https://stoa.example" });
    const url = `http://127.0.0.1:${port}`;
    let first: Awaited<ReturnType<typeof rawRequest>> | undefined;
    while (first === undefined) {
      first = await rawRequest(`${url}/api/v1/posts`, { headers: { "x-request-id": "early" } }).catch(() => undefined);
    }
    expect(first.status).toBe(503);
    const ofEach = {
      "strict-transport-security": "max-age=31536000",
      "cache-control": "no-store",
      date: expect.stringMatching(/ GMT$/),
    };
    expect(first.headers).toMatchObject({ "retry-after": "1", "x-request-id": "early", ...ofEach });
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
    const [head] = await once(session.request({ ":path": "/api/v1/posts" }).resume(), "response");
    expect(head).toMatchObject({ ":status": 503, "retry-after": "1", ...ofEach });
    const transports = [
      createGrpcTransport({ baseUrl: url }),
      createGrpcWebTransport({ baseUrl: url, httpVersion: "1.1" }),
      createConnectTransport({ baseUrl: url, httpVersion: "2" }),
      createConnectTransport({ baseUrl: url, httpVersion: "1.1", useBinaryFormat: false }),
    ];
    for (const transport of transports) {
      const failure = await failureOf(createClient(PostService, transport).createPost({ title: "Too early" }));
      expect([failure.code, failure.rawMessage]).toEqual([Code.Unavailable, "The service is starting."]);
      const [detail] = failure.findDetails(ErrorDetailSchema);
      expect(detail).toMatchObject({ error: "unavailable", retryAfterSeconds: 1n });
      expect(failure.findDetails(RetryInfoSchema)).toMatchObject([{ retryDelay: { seconds: 1n } }]);
      const stream = createClient(LedgerService, transport).streamReceipts({})[Symbol.asyncIterator]();
      expect((await failureOf(stream.next())).code).toBe(Code.Unavailable);
    }
    await goOn();
    // Not one of them is refused or reset.
    const statuses = [first.status];
    while (statuses.at(-1) === 503) statuses.push((await rawRequest(`${url}/api/v1/posts`)).status);
    expect(statuses.at(-1)).toBe(200);
    const service = await starting;
    expect(service.url).toBe(url);
    const early = service.log.filter(({ reqId }) => reqId === "early");
    expect(early).toHaveLength(1);
    expect(early[0]).toMatchObject({
      msg: "request",
      method: "GET",
      status: 503,
      code: "unavailable",
      address: "127.0.0.1",
    });
    // The same connections go on.
    const [served] = await once(session.request({ ":path": "/api/v1/posts" }).resume(), "response");
    expect(served[":status"]).toBe(200);
    session.destroy();
    for (const transport of transports) await createClient(PostService, transport).listPosts({});
  });
});

describe("the port", () => {
  it("speaks TLS during the start if the service will, and keeps the connections from then", async () => {
    const { port, starting, goOn } = await beginStart({ tls: certificate });
    const isOpen = async () => {
      const socket = net.connect(port, "127.0.0.1");
      const result = await Promise.race([once(socket, "connect"), once(socket, "error").catch(() => undefined)]);
      socket.destroy();
      return result?.length === 0;
    };
    await waitUntil("the port", () => isOpen().catch(() => false));
    const socket = connectTls({ port, host: "127.0.0.1", rejectUnauthorized: false });
    afterTest(() => socket.destroy());
    const ask = async () => {
      socket.write("GET /api/v1/posts HTTP/1.1\r\nHost: localhost\r\n\r\n");
      return String((await once(socket, "data"))[0]);
    };
    expect(await ask()).toMatch(/^HTTP\/1\.1 503 /);
    const session = http2.connect(`https://127.0.0.1:${port}`, { rejectUnauthorized: false });
    afterTest(() => session.destroy());
    const askHttp2 = async () =>
      (await once(session.request({ ":path": "/api/v1/posts" }).resume(), "response"))[0][":status"];
    expect(await askHttp2()).toBe(503);
    await goOn();
    await starting;
    expect(await ask()).toMatch(/^HTTP\/1\.1 200 /);
    expect(await askHttp2()).toBe(200);
  });

  it("that another program uses stops the start before the database is touched", async () => {
    const other = net.createServer().listen(0, "127.0.0.1");
    afterTest(() => other.close());
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    const empty = await createTestDatabase();
    await expect(startService({ db: empty, config: { port } })).rejects.toThrow(
      `port ${port} of 127.0.0.1 is in use by another program; stop it or set STOA_PORT`,
    );
    expect(await empty.rows("SHOW TABLES")).toEqual([]);
  });

  it.each([
    ["203.0.113.1", /^203\.0\.113\.1 is not an address of this machine; set STOA_HOST$/],
    ["no-such-host.invalid", /^[^\n]+$/],
  ])("on %s is refused with one line", async (host, message) => {
    await expect(startService({ db, config: { host } })).rejects.toThrow(message);
  });

  it("can be on a name with several addresses", async () => {
    const { url } = await startService({ db, config: { host: "localhost" } });
    expect((await askRest(url, "/healthz")).status).toBe(200);
  });
});
