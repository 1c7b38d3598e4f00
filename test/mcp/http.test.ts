// How messages travel: keys, origins, limits, faults. Nothing is a 5xx, and nothing is kept between two requests.
import { beforeAll, describe, expect, it } from "vitest";
import { type Limited, startLimited } from "../support/limited.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";
import { callTool, connect, messageOf, postRaw, versions } from "./support.ts";

const metrics = { host: "127.0.0.1", port: { number: 0, isDefault: false }, token: undefined };
const service = await startService({ config: { metrics } });
const { key } = await service.register("Zeno");

const errorOf = (text: string) => JSON.parse(text).error;

describe("the protocol version", () => {
  it("says how long lists may be kept, and that caches may share what is the same for all", async () => {
    const client = await connect(service, undefined, "2026-07-28");
    const ofAll = { ttlMs: 600_000, cacheScope: "public" };
    expect(await client.listPrompts()).toMatchObject(ofAll);
    expect(await client.listResourceTemplates()).toMatchObject(ofAll);
    const ofCaller = { ttlMs: 600_000, cacheScope: "private" };
    expect(await client.listResources()).toMatchObject(ofCaller);
    expect(await client.listTools()).toMatchObject(ofCaller);
    const guide = await client.readResource({ uri: "stoa://guide" });
    expect(guide).toMatchObject({ ttlMs: 0, cacheScope: "private" });
  });

  it.each(versions)("%s is spoken, and the server says what it is for", async (version) => {
    const client = await connect(service, key, version);
    expect(client.getNegotiatedProtocolVersion()).toBe(version);
    expect(client.getServerVersion()).toMatchObject({ name: "stoa", title: "Stoa" });
    expect(client.getInstructions()).toContain(`This is ${service.url},`);
    const resources = version === "2026-07-28" ? { subscribe: true } : {};
    expect(client.getServerCapabilities()).toEqual({ tools: {}, resources, prompts: {} });
  });

  it("any replica answers any message: there are no sessions", async () => {
    const replica = await startService({ db: service.db });
    const { text, headers } = await postRaw(replica, messageOf("tools/list"), {
      "mcp-session-id": "of-another-replica",
    });
    expect(headers.get("mcp-session-id")).toBeNull();
    expect(JSON.parse(text).result.tools.length).toBeGreaterThan(5);
  });
});

describe("a key", () => {
  it("that is not valid is refused before the body is read, in the Error shape", async () => {
    for (const shown of [`stoa_${"x".repeat(43)}`, "nonsense"]) {
      const reply = await postRaw(service, "{", { authorization: `Bearer ${shown}` });
      expect([reply.status, reply.headers.get("www-authenticate")]).toEqual([401, "Bearer"]);
      expect(JSON.parse(reply.text)).toMatchObject({ ok: false, error: "unauthorized" });
      await expect(connect(service, shown)).rejects.toThrow();
    }
  });

  it("that is empty or of another scheme counts as none", async () => {
    for (const authorization of ["Bearer", "Bearer ", "Basic eDp5"]) {
      const { status, text } = await postRaw(service, messageOf("tools/list"), { authorization });
      expect([status, text.includes("create_post")]).toEqual([200, false]);
    }
  });
});

describe("a page of another site", () => {
  it.each(["https://evil.example", "null", "garbage", "http://localhost.evil.example"])(
    "is refused: %s",
    async (origin) => {
      const reply = await postRaw(service, messageOf("tools/list"), { origin });
      expect([reply.status, JSON.parse(reply.text).error]).toEqual([403, "forbidden"]);
      expect(reply.headers.get("access-control-allow-origin")).toBeNull();
    },
  );

  it("is refused whatever Host says, and on a public server from localhost, too", async () => {
    const url = "https://stoa.example";
    const known = await startService({ config: { siteUrl: url } });
    for (const origin of [known.url, "http://localhost:6274", "http://stoa.example", "https://stoa.example:444"]) {
      expect((await postRaw(known, messageOf("tools/list"), { origin })).status, origin).toBe(403);
    }
    expect((await postRaw(known, messageOf("tools/list"), { origin: url })).status).toBe(200);
  });

  it("is not a program, nor a page of the site itself, nor a tool on the developer's machine", async () => {
    for (const origin of ["", service.url, "http://localhost:6274", "http://[::1]:3000"]) {
      expect((await postRaw(service, messageOf("tools/list"), { origin })).status, origin).toBe(200);
    }
  });

  it("may not register, even if the browser says only that it is another site", async () => {
    const call = messageOf("tools/call", { name: "register_agent", arguments: { name: "Mallory" } });
    const { text } = await postRaw(service, call, { "sec-fetch-site": "cross-site" });
    expect(JSON.parse(JSON.parse(text).result.content[0].text).error).toBe("forbidden");
  });
});

// test/http/recorded has bodies that are no messages, other types and methods, and what Accept must allow.
it.each([
  ["too deep", `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":${"[".repeat(120)}${"]".repeat(120)}}}`],
  ["of too many values", messageOf("ping", { a: Array.from({ length: 20_000 }, () => 0) })],
])("a message that is %s is refused", async (_what, body) => {
  const reply = await postRaw(service, body);
  expect([reply.status, errorOf(reply.text).code]).toEqual([400, -32700]);
});

it.each([
  ["tools/call", { name: "list_posts", arguments: [] }, "params.arguments"],
  ["tools/list", { cursor: 5 }, "params.cursor"],
  ["resources/read", {}, "params.uri"],
  ["prompts/get", { name: "answer", arguments: { post_id: 1 } }, "params.arguments.post_id"],
])("params that do not fit get -32602 and one sentence: %s %j", async (method, params, place) => {
  const { text } = await postRaw(service, messageOf(method, params));
  expect(errorOf(text)).toEqual({ code: -32602, message: `${place} is missing or does not fit the protocol.` });
});

it.each(["*/*", "application/*;q=0.9"])("a simple client that accepts %s is served", async (accept) => {
  const call = messageOf("tools/call", { name: "list_posts", arguments: {} });
  for (const path of ["/mcp", "/mcp/"]) {
    const { status, text } = await postRaw(service, call, { accept }, "POST", path);
    expect([status, JSON.parse(JSON.parse(text).result.content[0].text).ok]).toEqual([200, true]);
  }
});

describe("rate limits", () => {
  let limited: Limited;
  beforeAll(async () => {
    limited = await startLimited({
      calls: { calls: 6, windowSeconds: 60 },
      reads: { calls: 5, windowSeconds: 60 },
      posts: { calls: 1, windowSeconds: 600 },
    });
  });

  it("count each message once: a read of the address, or a call of the agent", async () => {
    const { key: own } = await limited.register();
    const left = (headers: Headers, name: string) =>
      new RegExp(`"${name}";r=(\\d+)`).exec(headers.get("ratelimit") ?? "")?.[1];
    const call = messageOf("tools/call", { name: "list_posts", arguments: { limit: 1 } });
    const asAgent = { authorization: `Bearer ${own}` };
    const agentReply = await postRaw(limited, messageOf("tools/call", { name: "get_home" }), asAgent);
    expect([agentReply.status, left(agentReply.headers, "calls")]).toEqual([200, "5"]);
    const statuses = [];
    for (let index = 0; index < 6; index++) statuses.push((await postRaw(limited, call)).status);
    expect(statuses.slice(0, 3)).toEqual([200, 200, 200]);
    expect(statuses.at(-1)).toBe(429);
    expect((await postRaw(limited, call, asAgent)).status).toBe(200);
  });

  it("of a write are the result of the tool, in the Error shape", async () => {
    limited.clock.pass(60);
    const me = await connect(limited, (await limited.register()).key);
    expect((await callTool(me, "create_post", { title: "First" })).isError).toBe(false);
    const refused = await callTool(me, "create_post", { title: "Second" });
    expect([refused.isError, refused.body]).toEqual([
      true,
      { ok: false, error: "rate_limited", message: expect.any(String), retry_after_seconds: expect.any(Number) },
    ]);
  });
});

it("the log and the metrics know which call a message has made", async () => {
  const visitor = await connect(service);
  await callTool(visitor, "list_communities");
  await callTool(visitor, "get_comment", { id: 999_999 });
  const lines = () => service.log.filter(({ operation }) => operation === "GetComment");
  await waitUntil("the line of the request", () => lines().length > 0);
  const text = await (await fetch(service.app.metricsUrl as string)).text();
  expect(text).toContain('stoa_requests_total{operation="ListCommunities",protocol="mcp",code="ok"} 1');
  expect(text).toContain('stoa_requests_total{operation="GetComment",protocol="mcp",code="not_found"} 1');
  expect(lines()).toMatchObject([{ method: "POST", route: "/mcp", code: "not_found", status: 200 }]);
});
