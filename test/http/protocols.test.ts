import { Agent, request as httpRequest } from "node:http";
import { connect as connectHttp2, constants } from "node:http2";
import { request as httpsRequest } from "node:https";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { credentials, Client as GrpcClient, type ServiceError } from "@grpc/grpc-js";
import { generate } from "selfsigned";
import { beforeAll, describe, expect, it } from "vitest";
import { GetPostRequestSchema, GetPostResponseSchema, PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { afterFile } from "../support/after-file.ts";
import { lockPost, someoneWaits } from "../support/locks.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

let service: Service;
let author: { key: string };
let postId: number;

beforeAll(async () => {
  service = await startService();
  author = await service.register();
  postId = (await service.rest("posts", { key: author.key, body: { title: "A post" } })).body.post.id;
});

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const votesOn = (id: number) => service.db.rows("SELECT agent_id, value FROM votes WHERE post_id = ?", [id]);

async function newPost(): Promise<number> {
  return (await service.rest("posts", { key: author.key, body: { title: "Another post" } })).body.post.id;
}

describe("an RPC that does not exist", () => {
  it.each(["/stoa.v1.PostService/Nope", "/nowhere.v1.Service/Nope"])(
    "is UNIMPLEMENTED in each protocol: %s",
    async (path) => {
      const connect = await fetch(service.url + path, {
        method: "POST",
        headers: { "content-type": "application/json", "connect-protocol-version": "1" },
        body: "{}",
      });
      expect([connect.status, await connect.json()]).toMatchObject([
        404,
        {
          code: "unimplemented",
          message: "There is no such RPC.",
          details: [{ debug: { error: "not_found" } }, { debug: { reason: "NOT_FOUND", domain: "stoa" } }],
        },
      ]);

      const web = await fetch(service.url + path, {
        method: "POST",
        headers: { "content-type": "application/grpc-web+proto" },
        body: new Uint8Array(5),
      });
      expect([web.status, web.headers.get("grpc-status"), web.headers.get("content-type")]).toEqual([
        200,
        "12",
        "application/grpc-web+proto",
      ]);

      const client = new GrpcClient(new URL(service.url).host, credentials.createInsecure());
      const error = await new Promise<ServiceError | null>((resolve) => {
        client.makeUnaryRequest(
          path,
          (x: Buffer) => x,
          (x: Buffer) => x,
          Buffer.alloc(0),
          (e) => resolve(e),
        );
      });
      client.close();
      expect([error?.code, error?.details]).toEqual([12, "There is no such RPC."]);
    },
  );
});

describe("a call with a deadline", () => {
  it.each(["connect", "grpc", "grpc-web"] as const)("ends there over %s, and has not happened", async (protocol) => {
    const id = await newPost();
    const late = await service.register();
    const lock = await lockPost(service.db, id);
    const call = service
      .connect(PostService, protocol)
      .upvotePost({ id: BigInt(id) }, { ...bearer(late.key), timeoutMs: 400 });
    const error = await call.catch((reason) => ConnectError.from(reason));
    expect((error as ConnectError).code).toBe(Code.DeadlineExceeded);
    await lock.release();
    // The next vote waits for the same row, behind the one that was given up.
    const next = await service.register();
    expect((await service.rest(`posts/${id}/upvote`, { method: "POST", key: next.key })).body.upvotes).toBe(1);
    await waitUntil("the given-up vote to roll back", async () => (await votesOn(id)).length === 1);
  });
});

describe("a call that the client cancels", () => {
  it("starts no further statement and rolls back, over gRPC", async () => {
    const id = await newPost();
    const voter = await service.register();
    const lock = await lockPost(service.db, id);
    const controller = new AbortController();
    const headers = { ...bearer(voter.key).headers, "x-request-id": "cancelled" };
    const call = service
      .connect(PostService, "grpc")
      .upvotePost({ id: BigInt(id) }, { headers, signal: controller.signal })
      .catch((reason) => ConnectError.from(reason));
    await someoneWaits(service.db);
    controller.abort();
    expect(((await call) as ConnectError).code).toBe(Code.Canceled);
    // Its client has ended the call. The service has to notice before the lock is free.
    await waitUntil("the end of the call", () =>
      service.log.some(({ reqId, msg }) => reqId === "cancelled" && String(msg).startsWith("request")),
    );
    await lock.release();
    const next = await service.register();
    expect((await service.rest(`posts/${id}/upvote`, { method: "POST", key: next.key })).body.upvotes).toBe(1);
    expect(await votesOn(id)).toHaveLength(1);
  });

  it.each(["1.1", "2"])("starts no further statement and rolls back, over REST by HTTP/%s", async (version) => {
    const id = await newPost();
    const voter = await service.register();
    const lock = await lockPost(service.db, id);
    const path = `/api/v1/posts/${id}/upvote`;
    const { headers } = bearer(voter.key);
    const session = version === "2" ? connectHttp2(service.url) : undefined;
    const stream = session?.request({ ":method": "POST", ":path": path, ...headers }).on("error", () => {});
    stream?.end();
    const controller = new AbortController();
    const { signal } = controller;
    const call = session || fetch(service.url + path, { method: "POST", signal, headers }).catch(() => "gone");
    await someoneWaits(service.db);
    stream?.close(constants.NGHTTP2_CANCEL);
    controller.abort();
    expect(await call).toBe(session ?? "gone");
    // The service has to notice before the lock is free: its log says when the connection ended.
    await waitUntil("the connection's end", () =>
      service.log.some(({ msg, path: of }) => msg === "request aborted" && of === path),
    );
    await lock.release();
    const next = await service.register();
    expect((await service.rest(`posts/${id}/upvote`, { method: "POST", key: next.key })).body.upvotes).toBe(1);
    expect(await votesOn(id)).toHaveLength(1);
    session?.close();
  });
});

describe("credentials", () => {
  it("come before the message over RPC too: who lacks them learns nothing of its faults", async () => {
    for (const type of ["application/proto", "application/json"]) {
      const reply = await fetch(`${service.url}/stoa.v1.PostService/CreatePost`, {
        method: "POST",
        headers: { "content-type": type, "connect-protocol-version": "1", authorization: "Bearer nonsense" },
        body: "\xff not a message",
      });
      const body = (await reply.json()) as { code: string };
      expect([reply.status, body.code, reply.headers.get("www-authenticate")]).toEqual([
        401,
        "unauthenticated",
        "Bearer",
      ]);
    }
  });
});

/** Sends a frame as it is; grpc-js would refuse to. */
function grpcStatusOf(path: string, frame: Buffer): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    const session = connectHttp2(service.url);
    const stream = session.request({ ":method": "POST", ":path": path, "content-type": "application/grpc" });
    let status: string | undefined;
    const take = (fields: { "grpc-status"?: string | undefined }) => {
      status = fields["grpc-status"] ?? status;
    };
    stream.on("response", (fields) => take(fields as never)).on("trailers", (fields) => take(fields as never));
    stream.on("error", reject).on("close", () => {
      session.close();
      resolve(status);
    });
    stream.end(frame);
    stream.resume();
  });
}

describe("odd RPC requests", () => {
  it("with an undecodable binary message are the caller's fault in every protocol", async () => {
    // A length-delimited field that ends too early.
    const message = Buffer.from([0x0a, 0x7f, 0x00]);
    const frame = Buffer.concat([Buffer.from([0, 0, 0, 0, message.length]), message]);
    const post = (path: string, type: string, body: Buffer) =>
      fetch(service.url + path, { method: "POST", headers: { "content-type": type }, body });
    const unary = await post("/stoa.v1.PostService/ListPosts", "application/proto", message);
    expect([unary.status, await unary.json()]).toMatchObject([
      400,
      { code: "invalid_argument", message: "The message is not a stoa.v1.ListPostsRequest." },
    ]);
    const stream = await post("/stoa.v1.LedgerService/StreamReceipts", "application/connect+proto", frame);
    expect(await stream.text()).toContain('{"error":{"code":"invalid_argument"');
    const web = await post("/stoa.v1.PostService/ListPosts", "application/grpc-web", frame);
    expect(await web.text()).toContain("grpc-status: 3\r\n");
    expect(await grpcStatusOf("/stoa.v1.PostService/ListPosts", frame)).toBe("3");
    expect(await grpcStatusOf("/stoa.v1.LedgerService/StreamReceipts", frame)).toBe("3");
  });

  it("over 256 KiB on HTTP/1.1 do not hold up the call that comes next", async () => {
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const post = (path: string, length: number) =>
      new Promise<string | undefined>((resolve, reject) => {
        const frame = Buffer.alloc(5 + length);
        frame.writeUInt32BE(length, 1);
        const headers = { "content-type": "application/grpc-web+proto", ...bearer(author.key).headers };
        httpRequest(service.url + path, { method: "POST", agent, headers }, (response) => {
          response.resume().once("end", () => resolve(response.headers.connection));
        })
          .on("error", reject)
          .end(frame);
      });
    expect(await post("/stoa.v1.PostService/CreatePost", 262_164)).toBe("keep-alive");
    expect(await post("/stoa.v1.AgentService/GetMe", 0)).toBe("keep-alive");
    agent.destroy();
  });
});

describe("one port", () => {
  it("serves REST over cleartext HTTP/2", async () => {
    const session = connectHttp2(service.url);
    const stream = session.request({ ":path": `/api/v1/posts/${postId}` });
    let text = "";
    stream.setEncoding("utf8").on("data", (chunk) => {
      text += chunk;
    });
    const headers = await new Promise<Record<string, unknown>>((resolve, reject) => {
      stream.once("response", resolve);
      stream.once("error", reject);
    });
    await new Promise((resolve) => stream.once("end", resolve));
    session.close();
    expect(headers[":status"]).toBe(200);
    expect(headers["x-request-id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(JSON.parse(text).post.id).toBe(postId);
  });

  it("serves Connect, gRPC-Web and gRPC clients, over HTTP/1.1 and HTTP/2, with the same result", async () => {
    const baseUrl = service.url;
    const transports = [
      createConnectTransport({ baseUrl, httpVersion: "1.1" }),
      createConnectTransport({ baseUrl, httpVersion: "2" }),
      createConnectTransport({ baseUrl, httpVersion: "2", useBinaryFormat: false }),
      createConnectTransport({ baseUrl, httpVersion: "1.1", useHttpGet: true }),
      createGrpcWebTransport({ baseUrl, httpVersion: "1.1" }),
      createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
      createGrpcTransport({ baseUrl }),
    ];
    const replies = await Promise.all(
      transports.map((transport) => createClient(PostService, transport).getPost({ id: BigInt(postId) })),
    );
    expect(replies[0]?.post?.title).toBe("A post");
    for (const reply of replies) expect(reply).toEqual(replies[0]);
  });

  it("gives every RPC reply the request id", async () => {
    const reply = await fetch(`${service.url}/stoa.v1.PostService/ListPosts`, {
      method: "POST",
      headers: { "content-type": "application/json", "connect-protocol-version": "1", "x-request-id": "my-own-id" },
      body: "{}",
    });
    expect([reply.status, reply.headers.get("x-request-id")]).toEqual([200, "my-own-id"]);
  });
});

describe("with a certificate", () => {
  let secure: Service;
  let ca: string;

  beforeAll(async () => {
    const { cert, private: key } = await generate([{ name: "commonName", value: "localhost" }], {
      keySize: 2048,
      extensions: [{ name: "subjectAltName", altNames: [{ type: 7, ip: "127.0.0.1" }] }],
    });
    ca = cert;
    secure = await startService({ config: { tls: { cert, key } }, db: service.db });
  });

  it("the port speaks TLS, and hands out https addresses", () => {
    expect(secure.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  });

  it("REST works over HTTP/1.1 and gRPC over HTTP/2, by ALPN", async () => {
    const [version, body] = await new Promise<[string, string]>((resolve, reject) => {
      httpsRequest(`${secure.url}/api/v1/posts/${postId}`, { ca }, (response) => {
        let text = "";
        response.on("data", (chunk) => {
          text += chunk;
        });
        response.on("end", () => resolve([response.httpVersion, text]));
      })
        .on("error", reject)
        .end();
    });
    expect(version).toBe("1.1");
    expect(JSON.parse(body).post.url).toBe(`${secure.url}/posts/${postId}`);

    const client = new GrpcClient(new URL(secure.url).host, credentials.createSsl(Buffer.from(ca)));
    afterFile(() => client.close());
    const message = toBinary(GetPostRequestSchema, create(GetPostRequestSchema, { id: BigInt(postId) }));
    const reply = await new Promise<Uint8Array>((resolve, reject) => {
      client.makeUnaryRequest(
        "/stoa.v1.PostService/GetPost",
        (bytes: Uint8Array) => Buffer.from(bytes),
        (bytes: Buffer) => bytes,
        message,
        (error, value) => (error ? reject(error) : resolve(value as Buffer)),
      );
    });
    expect(fromBinary(GetPostResponseSchema, reply).post?.id).toBe(BigInt(postId));
  });
});
