// Limits that are kept in the process: floods of refused requests, wrong credentials, calls of agents and of addresses.
import { connect } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { createGrpcCaller } from "../services/grpc-js.ts";
import { observeKeyLookUps, startLimited, untilRefused } from "../support/limited.ts";

const flooder = "192.0.2.1";
const neighbour = "192.0.2.2";
const wrongKey = `stoa_${"A".repeat(43)}`;

describe("calls without a key", () => {
  it("are limited by address, while calls with a known key count for its agent", async () => {
    const service = await startLimited({
      reads: { calls: 5, windowSeconds: 10 },
      calls: { calls: 8, windowSeconds: 8 },
    });
    const { clock, from } = service;
    const { key } = await service.register();
    expect((await untilRefused(() => from(flooder, "feed"))).allowed).toBe(5);
    const refusal = await from(flooder, "communities");
    expect(refusal.body).toMatchObject({ error: "rate_limited", retry_after_seconds: 2 });
    expect(refusal.headers.get("ratelimit")).toBe('"reads";r=0;t=2');
    expect((await from(neighbour, "feed")).status).toBe(200);

    expect((await from(flooder, "agents/me", { key })).status).toBe(200);
    const read = await from(flooder, "feed", { key });
    expect(read.headers.get("ratelimit")).toBe('"calls";r=6;t=1');
    expect((await from(flooder, "feed", { key: wrongKey })).status).toBe(429);
    expect((await untilRefused(() => from(neighbour, "feed", { key }))).allowed).toBe(6);
    expect((await from(neighbour, "agents/me", { key })).body).toMatchObject({ retry_after_seconds: 1 });
    clock.pass(1);
    expect((await from(neighbour, "agents/me", { key })).status).toBe(200);
    clock.pass(1);
    expect((await from(flooder, "feed")).status).toBe(200);
  });

  it("count even at unknown addresses and for pages", async () => {
    const { from } = await startLimited({ reads: { calls: 3, windowSeconds: 3 } });
    expect((await from(flooder, "nothing-here")).headers.get("ratelimit")).toBe('"reads";r=2;t=1');
    const { url } = await startLimited({ reads: { calls: 3, windowSeconds: 3 } });
    const page = await fetch(`${url}/`, { headers: { accept: "text/html" } });
    expect(page.headers.get("ratelimit")).toBe('"reads";r=2;t=1');
  });
});

describe("a flood of refused requests", () => {
  const quotas = { refusals: { calls: 6, windowSeconds: 12 } };

  it("is stopped by address for every kind of refusal, while health checks are still answered", async () => {
    const service = await startLimited(quotas);
    const { from, clock } = service;
    const { key, name } = await service.register();
    const refused = [
      await from(flooder, "posts/abc"),
      await from(flooder, "nothing-here"),
      await from(flooder, "agents/me"),
      await from(flooder, "posts/999999"),
      await from(flooder, "agents/register", { body: "{" }),
      await from(flooder, "agents/register", { body: { name: name } }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([400, 404, 401, 404, 400, 409]);
    const refusal = await from(flooder, "feed");
    expect(refusal.body).toMatchObject({ ok: false, error: "rate_limited", retry_after_seconds: 2 });
    expect(refusal.headers.get("retry-after")).toBe("2");
    expect(refusal.headers.get("ratelimit-policy")).toBe('"refusals";q=6;w=12');
    expect(refusal.headers.get("ratelimit")).toBe('"refusals";r=0;t=2');
    expect((await from(flooder, "nothing-here")).status).toBe(429);
    expect((await from(flooder, "/healthz")).status).toBe(200);
    expect((await from(flooder, "/readyz")).status).toBe(200);
    expect((await from(neighbour, "feed")).status).toBe(200);
    expect((await from(neighbour, "agents/me", { key })).status).toBe(200);
    // Waiting is enough: a 429 is no refusal that counts, and what succeeds costs nothing.
    clock.pass(2);
    for (let i = 0; i < 20; i++) expect((await from(flooder, "feed")).status).toBe(200);
  });

  it("includes malformed requests, but not those of a trusted proxy", async () => {
    for (const trustProxy of [[], ["loopback"]]) {
      const service = await startLimited(quotas, { config: { trustProxy } });
      for (let i = 0; i < 6; i++) {
        const socket = connect(Number(new URL(service.url).port), "127.0.0.1");
        socket.write("this is no request\r\n\r\n");
        let reply = "";
        for await (const chunk of socket) reply += chunk;
        expect(reply).toMatch(/^HTTP\/1\.1 400 /);
      }
      expect((await service.rest("feed")).status).toBe(trustProxy.length === 0 ? 429 : 200);
    }
  });

  it("counts equally over REST, Connect, gRPC-Web and gRPC, and is answered in the protocol's format", async () => {
    const service = await startLimited(quotas);
    const protocols = ["connect", "grpc", "grpc-web"] as const;
    const get = (protocol: (typeof protocols)[number], name: string) =>
      service
        .connect(AgentService, protocol)
        .getAgent({ name })
        .then(
          () => undefined,
          (error) => ConnectError.from(error),
        );
    for (let i = 0; i < 2; i++)
      for (const each of protocols) expect((await get(each, "nobody"))?.code).toBe(Code.NotFound);
    for (const each of protocols) {
      const error = await get(each, "nobody");
      expect(error?.code).toBe(Code.ResourceExhausted);
      expect(error?.metadata.get("retry-after")).toBe("2");
      expect(error?.metadata.get("ratelimit")).toBe('"refusals";r=0;t=2');
    }
    expect((await service.rest("feed")).status).toBe(429);
  });

  it("includes failed streams and requests that Connect itself refuses", async () => {
    const service = await startLimited(quotas);
    const headers = { "content-type": "application/proto", "connect-protocol-version": "1" };
    const undecodable = () =>
      fetch(`${service.url}/stoa.v1.PostService/ListPosts`, {
        method: "POST",
        headers,
        body: new Uint8Array([255, 255]),
      });
    const stream = async () => {
      for await (const _ of service.connect(LedgerService, "grpc").streamReceipts({ from: 999n }))
        throw new Error("there is one");
    };
    for (let i = 0; i < 2; i++) await expect(stream()).rejects.toMatchObject({ code: Code.NotFound });
    for (let i = 0; i < 2; i++) expect((await service.rest("house/receipts/stream?from=999")).status).toBe(404);
    for (let i = 0; i < 2; i++) expect((await undecodable()).status).toBeGreaterThanOrEqual(400);
    expect((await undecodable()).status).toBe(429);
    expect((await service.rest("feed")).status).toBe(429);
  });
});

describe("wrong credentials", () => {
  const quotas = { credentials: { calls: 3, windowSeconds: 30 } };

  it("slow only the address that sends them, on operations that need a key, and never the agent", async () => {
    const service = await startLimited(quotas);
    const { from, clock } = service;
    const { key } = await service.register();
    const near = `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`;
    // What cannot be a key is not looked up, and spends nothing.
    for (let i = 0; i < 5; i++) expect((await from(flooder, "agents/me", { key: "stoa_short" })).status).toBe(401);
    const misses = [near, wrongKey, near];
    for (const guess of misses) expect((await from(flooder, "agents/me", { key: guess })).status).toBe(401);
    const refusal = await from(flooder, "agents/me", { key: near });
    expect(refusal.body).toMatchObject({ error: "rate_limited", retry_after_seconds: 10 });
    expect(refusal.headers.get("ratelimit")).toBe('"credentials";r=0;t=10');
    // A good key goes on there, and so do reads.
    expect((await from(flooder, "agents/me", { key })).status).toBe(200);
    expect((await from(flooder, "feed")).status).toBe(200);
    expect((await from(neighbour, "agents/me", { key })).status).toBe(200);
    expect((await from(neighbour, "posts", { key, body: { title: "Undisturbed" } })).status).toBe(201);
    clock.pass(10);
    expect((await from(flooder, "agents/me", { key: near })).status).toBe(401);
    expect((await from(flooder, "agents/me", { key: near })).status).toBe(429);
  });

  it("include wrong operator tokens, but not missing keys", async () => {
    const operatorToken = "an-example-of-32-characters-or-more";
    const service = await startLimited(quotas, { config: { operatorToken } });
    const { LedgerOperatorService } = await import("../../gen/stoa/v1/ledger_operator_service_pb.js");
    const operator = createGrpcCaller(service.url, LedgerOperatorService);
    const seal = (token?: string) =>
      operator.call(LedgerOperatorService.method.sealDaily, { date: "2026-05-01" }, token).catch(({ code }) => code);
    for (let i = 0; i < 5; i++) expect(await seal()).toBe(16);
    for (let i = 0; i < 3; i++) expect(await seal("no-such-token")).toBe(16);
    expect(await seal("no-such-token")).toBe(8);
    // The right token: past credentials, and on to the date.
    expect(await seal(operatorToken)).toBe(3);
  });

  it("cost the same lookups, however similar to a real key they are", async () => {
    const service = await startLimited();
    const { key } = await service.register();
    const near = `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`;
    const statements = observeKeyLookUps();
    const lookUps: unknown[] = [];
    for (const guess of [near, wrongKey]) {
      statements.length = 0;
      expect((await service.rest("agents/me", { key: guess })).status).toBe(401);
      lookUps.push([...statements]);
    }
    // One among the agents, and one among those that are suspended.
    expect(lookUps[0]).toHaveLength(2);
    expect(lookUps[1]).toEqual(lookUps[0]);
  });
});

describe("fairness", () => {
  it("one agent and one address that flood do not slow others", async () => {
    const service = await startLimited({ posts: { calls: 2, windowSeconds: 60 } });
    const [noisy, calm] = [await service.register(), await service.register()];
    await untilRefused(() => service.from(flooder, "posts", { key: noisy.key, body: { title: "Flood" } }));
    let flooding = true;
    let refused = 0;
    const flood = Promise.all(
      Array.from({ length: 16 }, async () => {
        while (flooding) {
          const { status } = await service.from(flooder, "posts", { key: noisy.key, body: { title: "Flood" } });
          if (status === 429) refused += 1;
        }
      }),
    );
    const replies = [];
    for (let i = 0; i < 2; i++)
      replies.push(await service.from(neighbour, "posts", { key: calm.key, body: { title: "Calm" } }));
    for (let i = 0; i < 50; i++) replies.push(await service.from(neighbour, "feed", { key: calm.key }));
    flooding = false;
    await flood;
    expect(replies.map(({ status }) => status)).toEqual([201, 201, ...Array(50).fill(200)]);
    expect(refused).toBeGreaterThan(0);
    const posts = await service.rest(`agents/${noisy.name}`);
    expect(posts.body.agent.posts).toBe(2);
  });
});

it("without rate limits, nothing is limited and no header names a limit", async () => {
  const service = await startLimited({}, { config: { rateLimits: undefined } });
  const replies = await Promise.all(Array.from({ length: 200 }, () => service.rest("posts/abc")));
  for (const { status, headers } of replies) {
    expect(status).toBe(400);
    expect(headers.get("ratelimit")).toBeNull();
  }
  await service.connect(PostService, "grpc").listPosts(
    {},
    {
      onHeader: (headers) => expect(headers.get("ratelimit-policy")).toBeNull(),
    },
  );
});
