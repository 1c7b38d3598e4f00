// Limits that are kept in the process: floods of refused requests, wrong credentials, calls of agents and of addresses.
import { connect } from "node:net";
import { Code, ConnectError } from "@connectrpc/connect";
import { Metadata } from "@grpc/grpc-js";
import { beforeEach, describe, expect, it } from "vitest";
import { AgentService } from "../../gen/stoa/v1/agent_service_pb.js";
import { LedgerOperatorService } from "../../gen/stoa/v1/ledger_operator_service_pb.js";
import { LedgerService } from "../../gen/stoa/v1/ledger_service_pb.js";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { createGrpcCaller } from "../services/grpc-js.ts";
import { startLimited, untilRefused } from "../support/limited.ts";
import { startService } from "../support/service.ts";

const neighbour = "192.0.2.255";
const wrongKey = `stoa_${"A".repeat(43)}`;
const operatorToken = "an-example-of-32-characters-or-more";

/** Each test floods from an address of its own. */
let flooder: string;
let addresses = 0;
const quotas = {
  refusals: { calls: 6, windowSeconds: 12 },
  credentials: { calls: 3, windowSeconds: 30 },
  posts: { calls: 2, windowSeconds: 60 },
};
const service = await startLimited(quotas, { config: { operatorToken } });
const { from, clock } = service;
beforeEach(() => {
  flooder = `192.0.2.${++addresses}`;
  // All limits are regained by then.
  clock.pass(3600);
});

describe("calls without a key", () => {
  it("are limited by address, while calls with a known key count for its agent", async () => {
    const quotas = { reads: { calls: 5, windowSeconds: 10 }, calls: { calls: 8, windowSeconds: 8 } };
    const limited = await startLimited(quotas, { db: service.db, clock });
    const { from } = limited;
    const { key } = await limited.register();
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
});

describe("a flood of refused requests", () => {
  it("is stopped by address for every kind of refusal, while health checks are still answered", async () => {
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
    for (let i = 0; i < 7; i++) expect((await from(flooder, "feed")).status).toBe(200);
  });

  it("includes malformed requests, but not those of a trusted proxy", async () => {
    const quotas = { refusals: { calls: 2, windowSeconds: 12 } };
    const open = await startLimited(quotas, { db: service.db, clock, config: { trustProxy: [] } });
    for (const [limited, calls] of [
      [open, 2],
      [service, 6],
    ] as const) {
      for (let i = 0; i < calls; i++) {
        const socket = connect(Number(new URL(limited.url).port), "127.0.0.1");
        socket.write("this is no request\r\n\r\n");
        let reply = "";
        for await (const chunk of socket) reply += chunk;
        expect(reply).toMatch(/^HTTP\/1\.1 400 /);
      }
      expect((await limited.rest("feed")).status).toBe(limited === open ? 429 : 200);
    }
  });

  it("counts equally over REST, Connect, gRPC-Web and gRPC, and is answered in the protocol's format", async () => {
    const headers = { "x-forwarded-for": flooder };
    const ask = async (protocol: "connect" | "grpc" | "grpc-web") => {
      const call = service.connect(AgentService, protocol).getAgent({ name: "nobody" }, { headers });
      return ConnectError.from(await call.catch((error) => error));
    };
    const protocols = ["connect", "grpc", "grpc-web"] as const;
    for (const each of [...protocols, ...protocols]) expect((await ask(each)).code).toBe(Code.NotFound);
    for (const each of protocols) {
      const { code, metadata } = await ask(each);
      expect(code).toBe(Code.ResourceExhausted);
      expect(metadata.get("retry-after")).toBe("2");
      expect(metadata.get("ratelimit")).toBe('"refusals";r=0;t=2');
    }
    expect((await from(flooder, "feed")).status).toBe(429);
  });

  it("includes failed streams and requests that Connect itself refuses", async () => {
    const headers = { "x-forwarded-for": flooder };
    const undecodable = () =>
      fetch(`${service.url}/stoa.v1.PostService/ListPosts`, {
        method: "POST",
        headers: { ...headers, "content-type": "application/proto", "connect-protocol-version": "1" },
        body: new Uint8Array([255, 255]),
      });
    const stream = async () => {
      for await (const _ of service.connect(LedgerService, "grpc").streamReceipts({ from: 999n }, { headers }))
        throw new Error("there is one");
    };
    for (let i = 0; i < 2; i++) await expect(stream()).rejects.toMatchObject({ code: Code.NotFound });
    for (let i = 0; i < 2; i++) expect((await from(flooder, "house/receipts/stream?from=999")).status).toBe(404);
    for (let i = 0; i < 2; i++) expect((await undecodable()).status).toBeGreaterThanOrEqual(400);
    expect((await undecodable()).status).toBe(429);
    expect((await from(flooder, "feed")).status).toBe(429);
  });
});

describe("wrong credentials", () => {
  it("slow only the address that sends them, on operations that need a key, and never the agent", async () => {
    const { key } = await service.register();
    const near = `${key.slice(0, -1)}${key.endsWith("A") ? "B" : "A"}`;
    // What cannot be a key is not looked up, and spends nothing.
    for (let i = 0; i < 2; i++) expect((await from(flooder, "agents/me", { key: "stoa_short" })).status).toBe(401);
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
    const operator = createGrpcCaller(service.url, LedgerOperatorService);
    const metadata = new Metadata();
    metadata.set("x-forwarded-for", flooder);
    const seal = (token?: string) =>
      operator
        .call(LedgerOperatorService.method.sealDaily, { date: "2026-05-01" }, token, { metadata })
        .catch(({ code }) => code);
    for (let i = 0; i < 2; i++) expect(await seal()).toBe(16);
    for (let i = 0; i < 3; i++) expect(await seal("no-such-token")).toBe(16);
    expect(await seal("no-such-token")).toBe(8);
    // The right token: past credentials, and on to the date.
    expect(await seal(operatorToken)).toBe(3);
  });
});

it("without rate limits, nothing is limited and no header names a limit", async () => {
  const unlimited = await startService({ db: service.db });
  const replies = await Promise.all(Array.from({ length: 70 }, () => unlimited.rest("posts/abc")));
  for (const { status, headers } of replies) {
    expect(status).toBe(400);
    expect(headers.get("ratelimit")).toBeNull();
  }
  const onHeader = (headers: Headers) => expect(headers.get("ratelimit-policy")).toBeNull();
  await unlimited.connect(PostService, "grpc").listPosts({}, { onHeader });
});
