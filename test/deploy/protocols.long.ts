// npm run test:proxies: every protocol through the examples of deploy/ for Caddy, nginx and HAProxy, before two replicas.
import { Agent } from "node:https";
import { Code, ConnectError, createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";
import { beforeAll, describe, expect, it } from "vitest";
import { InboxService } from "../../gen/stoa/v1/inbox_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { afterFile } from "../support/after-file.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { type Asked, ask, firstReceipt } from "./client.ts";
import { examples, proxyNames } from "./examples.ts";
import { startProxy } from "./proxy.ts";

describe.each(proxyNames)("%s", (name) => {
  let replicas: Service[];
  let site: { port: number; ca: string };
  let agent: { name: string; key: string };
  let postId: number;

  beforeAll(async () => {
    const config = { trustProxy: ["loopback"], siteUrl: "https://board.example" };
    const first = await startService({ config });
    replicas = [first, await startService({ config, db: first.db })];
    site = await startProxy(
      name,
      replicas.map(({ url }) => new URL(url).host),
    );
    agent = await first.register();
    postId = (await first.rest("posts", { key: agent.key, body: { title: "behind a proxy" } })).body.post.id;
  });

  it("passes on REST, and the address of the client, whatever it says itself", async () => {
    const created = await ask(site, "/api/v1/posts", { key: agent.key, body: { title: "by the proxy" } });
    expect(created.status, created.text).toBe(201);
    const headers = { "x-forwarded-for": "192.0.2.1" };
    const missing = await ask(site, "/api/v1/posts/999999", { headers, localAddress: "127.0.0.7" });
    expect(missing.status).toBe(404);
    const lines = replicas.flatMap(({ log }) => log);
    await waitUntil("its line", () => lines.some(({ path }) => path === "/api/v1/posts/999999"));
    expect(lines.find(({ path }) => path === "/api/v1/posts/999999")).toMatchObject({ address: "127.0.0.7" });
  });

  it("gives each request an id, or keeps that of the client", async () => {
    const lines = () => replicas.flatMap(({ log }) => log.map(({ reqId }) => reqId));
    const given = await ask(site, "/api/v1/feed");
    const own = await ask(site, "/api/v1/feed", { headers: { "x-request-id": "of-the-client" } });
    expect(own.headers["x-request-id"]).toBe("of-the-client");
    await waitUntil(
      "their lines",
      () => lines().includes(given.headers["x-request-id"]) && lines().includes("of-the-client"),
    );
  });

  it("refuses a body of more than 1 MiB itself, in the shape of an error", async () => {
    const refused = await ask(site, "/api/v1/posts", { key: agent.key, body: { body: "x".repeat(1_100_000) } });
    expect(refused.status, refused.text).toBe(413);
    expect(refused.headers["content-type"]).toMatch(/^application\/json/);
    expect(JSON.parse(refused.text)).toMatchObject({ ok: false, error: "too_large" });
  });

  it("keeps errors as they are, also of bodies that are too large", async () => {
    const body = { body: "x".repeat(300 * 1024) };
    const refused = await ask(site, "/api/v1/posts", { key: agent.key, body });
    const direct = await (replicas[0] as Service).rest("posts", { key: agent.key, body });
    expect(direct.body.ok).toBe(false);
    expect([refused.status, JSON.parse(refused.text)]).toEqual([direct.status, direct.body]);
  });

  it.each([
    ["gRPC", createGrpcTransport],
    ["Connect over HTTP/1.1", createConnectTransport],
    ["gRPC-Web", createGrpcWebTransport],
  ] as const)("passes on calls and a live stream: %s", async (_, transportOf) => {
    const nodeOptions = { ca: site.ca, family: 4 } as never;
    const transport = transportOf({ baseUrl: `https://localhost:${site.port}`, httpVersion: "1.1", nodeOptions });
    const headers = { authorization: `Bearer ${agent.key}` };
    const { post } = await createClient(PostService, transport).getPost({ id: BigInt(postId) });
    expect(post?.id).toBe(BigInt(postId));
    const refused = createClient(PostService, transport).createPost({ title: "no key" });
    expect(ConnectError.from(await refused.catch((error) => error)).code).toBe(Code.Unauthenticated);

    const ended = new AbortController();
    const watched: bigint[] = [];
    const stream = createClient(InboxService, transport).watchInbox(
      { follow: true },
      { headers, signal: ended.signal },
    );
    const reading = (async () => {
      for await (const { item } of stream) if (item) return void watched.push(item.id);
    })();
    const other = await (replicas[0] as Service).register();
    // Items that are older than the stream do not come, so comments follow until one does.
    await waitUntil("an item in the stream", async () => {
      await (replicas[0] as Service).rest(`posts/${postId}/comments`, { key: other.key, body: { body: "hello" } });
      return watched.length > 0;
    });
    await reading;
    ended.abort();
  });

  it("passes on each line of a stream at once, and tells the replica when the reader has left", async () => {
    expect(await firstReceipt(site, 1)).toMatchObject({ seq: 1 });
    const isOver = ({ log }: Service) =>
      log.some(({ operation, msg }) => operation === "StreamReceipts" && /^request/.test(String(msg)));
    await waitUntil("the end of the stream at the replica", () => replicas.some(isOver));
  });

  if (examples[name].limitsRequests) {
    it("turns an address away that sends too many requests, and no other", async () => {
      const limited = await untilRefused(site, "127.0.0.9");
      expect(limited.headers).toMatchObject({ "content-type": "application/json", "retry-after": "3" });
      expect(JSON.parse(limited.text)).toMatchObject({ ok: false, error: "rate_limited", retry_after_seconds: 3 });
      expect((await ask(site, "/healthz", { localAddress: "127.0.0.10" })).status).toBe(200);
    });
  }

  it("says in the shape of an error that no replica is there", async () => {
    await Promise.all(replicas.map(({ app }) => app.close()));
    const { status, headers, text } = await ask(site, "/api/v1/feed", { localAddress: "127.0.0.11" });
    expect([status, headers["retry-after"]]).toEqual([503, "1"]);
    expect(headers["content-type"]).toBe("application/json");
    expect(JSON.parse(text)).toMatchObject({ ok: false, error: "unavailable", retry_after_seconds: 1 });
  });
});

/** Sends requests from an address until one is refused with 429. */
async function untilRefused(site: { port: number; ca: string }, localAddress: string): Promise<Asked> {
  const agent = new Agent({ keepAlive: true, maxSockets: 16 });
  afterFile(() => agent.destroy());
  for (let sent = 0; sent < 4_000; sent += 100) {
    const replies = await Promise.all(
      Array.from({ length: 100 }, () => ask(site, "/healthz", { agent, localAddress })),
    );
    const refused = replies.find(({ status }) => status === 429);
    if (refused !== undefined) return refused;
  }
  throw new Error("4,000 requests of one address were answered");
}
