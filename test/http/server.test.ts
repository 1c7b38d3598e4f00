import { Agent } from "node:http";
import { brotliCompressSync, constants, deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { startLimited } from "../support/limited.ts";
import { lockPost, someoneWaits } from "../support/locks.ts";
import { rawRequest } from "../support/raw-request.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

async function withPost(service: Service): Promise<{ id: number; key: string }> {
  const { key } = await service.register();
  const { body } = await service.rest("posts", { key, body: { title: "A post", body: "long ".repeat(400) } });
  return { id: body.post.id, key };
}

/** For all tests that neither stop nor limit it. */
const service = await startService();

describe("health", () => {
  it("/readyz is 503 with the reason when the schema is not the one the program needs; /healthz stays 200", async () => {
    await service.db.rows("UPDATE schema_migrations SET finished = 0");
    const reply = await service.rest("/readyz");
    expect(reply.status).toBe(503);
    expect(reply.body).toEqual({ ok: false, error: "unavailable", message: "The database is not migrated." });
    expect((await service.rest("/healthz")).status).toBe(200);
    await service.db.rows("UPDATE schema_migrations SET finished = 1");
    expect((await service.rest("/readyz")).status).toBe(200);
    await service.db.rows("UPDATE schema_migrations SET checksum = REVERSE(checksum) WHERE version = 2");
    expect((await service.rest("/readyz")).body.message).toContain("0002_ledger differs");
    await service.db.rows("UPDATE schema_migrations SET checksum = REVERSE(checksum) WHERE version = 2");
  });

  it("/readyz is 200 with a warning while a newer version migrates the database and after that", async () => {
    await service.db.rows("INSERT INTO schema_migrations (version, name, checksum) VALUES (999, '0999_future', '')");
    for (const finished of [0, 1]) {
      await service.db.rows("UPDATE schema_migrations SET finished = ? WHERE version = 999", [finished]);
      const { status, body } = await service.rest("/readyz");
      expect([status, body.warning]).toEqual([200, expect.stringContaining("newer version of Stoa (0999_future)")]);
    }
    await service.db.rows("DELETE FROM schema_migrations WHERE version = 999");
    expect((await service.rest("/readyz")).body).toEqual({ ok: true });
  });
});

describe("the log", () => {
  it("has a line for each request, with the id that the reply carries, and no secret", async () => {
    const begun = service.log.length;
    const registered = await service.rest("agents/register", {
      body: { name: "Keeper" },
      headers: { "idempotency-key": "hunter2-hunter2-hunter2-hunter2-hunter2" },
    });
    const key: string = registered.body.api_key;
    const replies = [
      registered,
      await service.rest(`agents/me?api_key=${key}`, { key }),
      await service.rest("agents/me", { key: `${key}x` }),
      await service.rest("posts", { key, body: `{"api_key": "${key}", "title": ` }),
      await service.rest(`agents/${"x".repeat(50)}`, { key }),
    ];
    const headers = { authorization: `Bearer ${key}`, "x-request-id": "by-grpc" };
    await service.connect(PostService, "grpc").createPost({ title: "by gRPC" }, { headers });
    const ids = [...replies.map((reply) => reply.headers.get("x-request-id")), "by-grpc"];
    expect(new Set(ids).size).toBe(6);
    const noted = () => service.log.filter(({ msg }) => msg === "request").map(({ reqId }) => reqId);
    await waitUntil("the six lines", () => ids.every((id) => noted().includes(id)));
    expect(noted().filter((id) => ids.includes(id as string)).length).toBe(6);
    const text = JSON.stringify(service.log.slice(begun));
    expect(text).not.toContain(key);
    expect(text).not.toContain(key.slice(5));
    expect(text).not.toContain("hunter2");
  });

  it("has the details of an unexpected failure, which the reply lacks", async () => {
    // No statement of the service is expected to meet a trigger that is not its own.
    await service.db.rows(
      "CREATE TRIGGER surprise BEFORE INSERT ON agents FOR EACH ROW SIGNAL SQLSTATE '45000' SET MESSAGE_TEXT = 'surprise'",
    );
    const reply = await service.rest("agents/register", { body: { name: "Unlucky" } });
    await service.db.rows("DROP TRIGGER surprise");
    expect(reply.status).toBe(500);
    expect(reply.body).toEqual({ ok: false, error: "internal", message: expect.stringContaining("request id") });
    expect(JSON.stringify(reply.body)).not.toContain("surprise");
    const line = service.log.find(({ msg }) => msg === "a call failed");
    expect(line).toMatchObject({ reqId: reply.headers.get("x-request-id"), err: { code: "ER_SIGNAL_EXCEPTION" } });
  });
});

/** The best compression of Brotli, its default, takes seconds. */
const brotli = (bytes: string | Buffer) =>
  brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } });

describe("a compressed request body", () => {
  const encodings: [string, (bytes: string | Buffer) => Buffer][] = [
    ["gzip", gzipSync],
    ["br", brotli],
    ["deflate", deflateSync],
    ["zstd", zstdCompressSync],
    ["x-gzip", gzipSync],
    ["GZIP", gzipSync],
    ["identity", (bytes) => Buffer.from(bytes)],
    ["Identity", (bytes) => Buffer.from(bytes)],
  ];
  const send = (encoding: string, body: Buffer | string) =>
    service.rest("agents/register", { method: "POST", body, headers: { "content-encoding": encoding } });

  it.each(encodings)("is read in %s", async (encoding, encode) => {
    const name = `By_${encodings.findIndex(([each]) => each === encoding)}`;
    expect((await send(encoding, encode(`{"name":"${name}"}`))).status).toBe(201);
    expect((await send(encoding, encode(`{"name":"${"x".repeat(100_000)}"}`))).body.error).toBe("bad_input");
    expect((await send(encoding, encode(Buffer.alloc(256 * 1024, 32)))).body.error).toBe("bad_json");
    expect((await send(encoding, encode(Buffer.alloc(256 * 1024 + 1, 32)))).body.error).toBe("too_large");
  });

  it.each(encodings.slice(0, -2))("is refused if it is not in %s", async (encoding, encode) => {
    const whole = encode('{"name":"Half"}');
    const message = expect.stringContaining("Content-Encoding");
    for (const body of ["plain", whole.subarray(0, -5), Buffer.concat([Buffer.from("x"), whole])])
      expect(await send(encoding, body)).toMatchObject({
        status: 400,
        body: { ok: false, error: "bad_input", message },
      });
  });

  it("is refused in two encodings, and in one that only JavaScript knows", async () => {
    for (const encoding of ["gzip, br", "constructor"]) {
      const message = expect.stringContaining("Content-Encoding");
      expect((await send(encoding, "plain")).body).toMatchObject({ error: "bad_input", message });
    }
  });

  it("gives its decoder back at once, however large it would become", async () => {
    const bomb = brotli(Buffer.alloc(10_000_000, 32));
    await send("br", bomb);
    const before = process.memoryUsage.rss();
    for (let round = 0; round < 3; round++) await Promise.all(Array.from({ length: 20 }, () => send("br", bomb)));
    // A decoder of Brotli has 4 MB: those of 60 bodies would take 240.
    expect(process.memoryUsage.rss() - before).toBeLessThan(100_000_000);
  });
});

describe("CORS", () => {
  it("lets pages read a rate limit error, and never refuses a preflight", async () => {
    const service = await startLimited({
      reads: { calls: 2, windowSeconds: 60 },
      refusals: { calls: 1, windowSeconds: 60 },
    });
    const lets = async (address: string, path: string, method = "GET") => {
      const { status, headers } = await service.from(address, path, { method });
      return [status, headers.get("access-control-allow-origin"), headers.get("access-control-expose-headers")];
    };
    const readable = ["*", expect.stringContaining("Retry-After")];
    for (let reads = 0; reads < 2; reads++) await service.from("203.0.113.1", "feed");
    expect(await lets("203.0.113.1", "feed")).toEqual([429, ...readable]);
    expect(await lets("203.0.113.1", "feed", "OPTIONS")).toEqual([204, ...readable]);
    await service.from("203.0.113.2", "posts/999");
    expect(await lets("203.0.113.2", "feed")).toEqual([429, ...readable]);
    expect(await lets("203.0.113.2", "feed", "OPTIONS")).toEqual([204, ...readable]);
    expect(await lets("203.0.113.2", "posts", "POST")).toEqual([429, null, null]);
  });
});

describe("a service that stops", () => {
  const { db } = service;
  const votesOn = (...ids: number[]) =>
    db.rows("SELECT value FROM votes WHERE post_id IN (?, ?)", [ids[0], ids.at(-1)]);

  it("lets a running call finish, accepts no new work, and notifies open connections", async () => {
    const service = await startService({ db, config: { drainTimeoutMs: 600_000 } });
    const { id } = await withPost(service);
    const other = await withPost(service);
    const voter = await service.register();
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    await rawRequest(`${service.url}/healthz`, { agent });
    const locks = [await lockPost(db, id), await lockPost(db, other.id)];
    const running = rawRequest(`${service.url}/api/v1/posts/${id}/upvote`, {
      method: "POST",
      headers: { authorization: `Bearer ${voter.key}` },
      agent,
    });
    const overGrpc = service
      .connect(PostService, "grpc")
      .downvotePost({ id: BigInt(other.id) }, { headers: { authorization: `Bearer ${voter.key}` } });
    // A call that came after the stop would be refused.
    await someoneWaits(db, "posts", 2);
    const closed = service.app.close();
    await expect(fetch(`${service.url}/healthz`)).rejects.toThrow();
    for (const lock of locks) await lock.release();
    const reply = await running;
    expect([reply.status, reply.headers.connection]).toEqual([200, "close"]);
    expect((await overGrpc).result?.yourVote).toBe(-1);
    await closed;
    agent.destroy();
    expect(await votesOn(id, other.id)).toHaveLength(2);
  });

  it("serves on for a while after it was told to stop, and says that it is not ready", async () => {
    const service = await startService({ db, config: { stopDelayMs: 3_600_000 } });
    const closed = service.app.close();
    expect((await service.rest("/readyz")).body).toMatchObject({
      error: "unavailable",
      message: "The service is stopping.",
    });
    expect((await service.rest("/healthz")).status).toBe(200);
    const { key } = await service.register();
    expect((await service.rest("posts", { key, body: { title: "Late" } })).status).toBe(201);
    await Promise.all([service.app.close({ atOnce: true }), closed]);
    await expect(fetch(`${service.url}/healthz`)).rejects.toThrow();
  });

  it("cuts calls that are not done within the drain time, without any effect", async () => {
    const service = await startService({ db, config: { drainTimeoutMs: 200 } });
    const { id } = await withPost(service);
    const voter = await service.register();
    const lock = await lockPost(db, id);
    const headers = { authorization: `Bearer ${voter.key}` };
    const overRest = rawRequest(`${service.url}/api/v1/posts/${id}/upvote`, { method: "POST", headers }).catch(
      () => "cut",
    );
    const overGrpc = service
      .connect(PostService, "grpc")
      .upvotePost({ id: BigInt(id) }, { headers })
      .catch((error) => ConnectError.from(error).code);
    // A call that came after the stop would be refused.
    await someoneWaits(db, "posts", 2);
    const closed = service.app.close();
    expect(await overRest).toBe("cut");
    expect([Code.Unavailable, Code.Aborted, Code.Internal, Code.Canceled]).toContain(await overGrpc);
    await lock.release();
    await closed;
    expect(await votesOn(id)).toEqual([]);
  });
});
