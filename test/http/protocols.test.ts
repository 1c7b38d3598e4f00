import { once } from "node:events";
import { Agent, request as httpRequest } from "node:http";
import { connect as connectHttp2, constants } from "node:http2";
import { request as httpsRequest } from "node:https";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createGrpcTransport, Http2SessionManager } from "@connectrpc/connect-node";
import { describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { lockPost, someoneWaits } from "../support/locks.ts";
import { certificate } from "../support/port.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const service = await startService();
const author = await service.register();
const postId: number = (await service.rest("posts", { key: author.key, body: { title: "A post" } })).body.post.id;

const bearer = (key: string) => ({ headers: { authorization: `Bearer ${key}` } });
const votesOn = (id: number) => service.db.rows("SELECT agent_id, value FROM votes WHERE post_id = ?", [id]);

async function newPost(): Promise<number> {
  return (await service.rest("posts", { key: author.key, body: { title: "Another post" } })).body.post.id;
}

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

it.each(["gRPC", "REST by HTTP/1.1", "REST by HTTP/2"])(
  "a call that the client cancels starts no further statement and rolls back, over %s",
  async (way) => {
    const id = await newPost();
    const voter = await service.register();
    const lock = await lockPost(service.db, id);
    const path = `/api/v1/posts/${id}/upvote`;
    const headers = { ...bearer(voter.key).headers, "x-request-id": way.replaceAll(" ", "-") };
    const controller = new AbortController();
    const { signal } = controller;
    const session = way.endsWith("2") ? connectHttp2(service.url) : undefined;
    const stream = session?.request({ ":method": "POST", ":path": path, ...headers }).on("error", () => {});
    stream?.end();
    const call =
      way === "gRPC"
        ? service.connect(PostService, "grpc").upvotePost({ id: BigInt(id) }, { headers, signal })
        : (session ?? fetch(service.url + path, { method: "POST", signal, headers }));
    const outcome = Promise.resolve<unknown>(call).catch((reason) => ConnectError.from(reason).code);
    await someoneWaits(service.db);
    stream?.close(constants.NGHTTP2_CANCEL);
    controller.abort();
    expect(await outcome).toBe(session ?? Code.Canceled);
    // The service has to notice before the lock is free: its log says when the connection ended.
    await waitUntil("the end of the call", () =>
      service.log.some(({ reqId, msg }) => reqId === way.replaceAll(" ", "-") && String(msg).startsWith("request")),
    );
    await lock.release();
    const next = await service.register();
    expect((await service.rest(`posts/${id}/upvote`, { method: "POST", key: next.key })).body.upvotes).toBe(1);
    expect(await votesOn(id)).toHaveLength(1);
    session?.close();
  },
);

it("an RPC with over 256 KiB on HTTP/1.1 does not hold up the call that comes next", async () => {
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

it("with a certificate, REST works over HTTP/1.1 and gRPC over HTTP/2, by ALPN", async () => {
  const secure = await startService({ config: { tls: certificate }, db: service.db });
  const trusting = { ca: certificate.cert, servername: "localhost" };
  expect(secure.url).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
  const [response] = await once(httpsRequest(`${secure.url}/api/v1/posts/${postId}`, trusting).end(), "response");
  const body = JSON.parse((await response.setEncoding("utf8").toArray()).join(""));
  expect([response.httpVersion, body.post.url]).toEqual(["1.1", `${secure.url}/posts/${postId}`]);
  const sessionManager = new Http2SessionManager(secure.url, {}, trusting);
  const transport = createGrpcTransport({ baseUrl: secure.url, sessionManager });
  const { post } = await createClient(PostService, transport).getPost({ id: BigInt(postId) });
  expect(post?.id).toBe(BigInt(postId));
  sessionManager.abort();
});
