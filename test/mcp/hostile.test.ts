// Whatever is sent to /mcp gets an answer of its protocol: no 5xx, nothing in the log of errors, no growth.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";
import { callTool, connect, messageOf, postRaw } from "./support.ts";

const service = await startService();
const { key } = await service.register("Zeno");

const methods = [
  "initialize", "ping", "tools/list", "tools/call", "resources/list", "resources/read", "resources/templates/list",
  "prompts/list", "completion/complete", "logging/setLevel", "subscriptions/listen", "server/discover", "resources/subscribe",
  "notifications/initialized", "notifications/cancelled", "tasks/get", "__proto__", "",
]; // biome-ignore format: one list
const toolNames = ["list_posts", "create_post", "get_post", "vote", "edit", "get_agent", "get_my_votes"];
const envelope = {
  "io.modelcontextprotocol/protocolVersion": "2026-07-28",
  "io.modelcontextprotocol/clientInfo": { name: "x", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

const argumentNames = ["id", "post_id", "post_ids", "limit", "cursor", "title", "body", "sort", "vote", "__proto__"];
const args = fc.dictionary(fc.constantFrom(...argumentNames), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 4 });
const params = fc.oneof(
  fc.record({ name: fc.constantFrom(...toolNames), arguments: args, _meta: fc.constantFrom({}, envelope) }),
  fc.record({
    uri: fc.oneof(fc.string(), fc.constantFrom("stoa://posts/1", "stoa://guide")),
    _meta: fc.constantFrom({}, envelope),
  }),
  fc.record({ notifications: fc.constant({ toolsListChanged: true }), _meta: fc.constant(envelope) }),
  fc.jsonValue(),
);
const message = fc.record(
  {
    jsonrpc: fc.constantFrom("2.0", "2.0", "2.0", "1.0", 2),
    id: fc.oneof(fc.integer(), fc.string(), fc.jsonValue({ maxDepth: 0 })),
    method: fc.constantFrom(...methods),
    params,
  },
  { requiredKeys: [] },
);
const headers = fc.record(
  {
    "mcp-protocol-version": fc.constantFrom("2025-06-18", "2026-07-28", "2024-11-05", "x"),
    "mcp-method": fc.constantFrom(...methods.filter(Boolean)),
    "mcp-name": fc.constantFrom(...toolNames, "=?base64?eA==?="),
    "mcp-session-id": fc.constantFrom("x", ""),
    accept: fc.constantFrom("*/*", "application/json", "application/json, text/event-stream"),
    "last-event-id": fc.constant("7"),
  },
  { requiredKeys: [] },
);

it("no message is answered with a 5xx, or fails unknown to the caller", async () => {
  await fc.assert(
    fc.asyncProperty(message, headers, fc.boolean(), async (body, some, isAgent) => {
      const reply = await postRaw(service, JSON.stringify(body), {
        ...some,
        ...(isAgent ? { authorization: `Bearer ${key}` } : {}),
      });
      expect(reply.status, reply.text).toBeLessThan(500);
      expect(reply.text).not.toContain('"internal"');
      if (reply.text !== "" && reply.headers.get("content-type")?.startsWith("application/json"))
        JSON.parse(reply.text);
    }),
    { numRuns: 200, seed: 1 },
  );
  expect(service.log.filter(({ level }) => (level as number) >= 50)).toEqual([]);
});

describe("a message of very many values", () => {
  const many = Array.from({ length: 2_000 }, (_, index) => [`key${index}`, {}]);

  it("is refused before the SDK checks each of them", async () => {
    const clientInfo = { name: "x", version: "1", icons: many.map(() => ({})) };
    const params = { protocolVersion: "2025-06-18", capabilities: {}, clientInfo };
    const reply = await postRaw(service, messageOf("initialize", params));
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).error).toMatchObject({
      code: -32600,
      message: expect.stringContaining("500 values"),
    });
  });

  it("is read if they are the arguments of a tool", async () => {
    const call = messageOf("tools/call", { name: "list_posts", arguments: { limit: 1, ...Object.fromEntries(many) } });
    const reply = await postRaw(service, call);
    expect(reply.status).toBe(200);
    const { content } = JSON.parse(reply.text).result;
    expect(JSON.parse(content[0].text)).toMatchObject({ ok: true, warnings: { length: 8 } });
  });
});

it("a message of long texts besides the arguments of a tool is refused before it is copied", async () => {
  const long = "x".repeat(20_000);
  for (const text of [
    JSON.stringify({ jsonrpc: "2.0", id: long, method: "ping" }),
    JSON.stringify({ jsonrpc: "2.0", id: 1, method: long }),
    messageOf("ping", { [long]: 1 }),
    messageOf("tools/call", { name: long, arguments: {} }),
  ]) {
    const reply = await postRaw(service, text);
    expect(reply.status).toBe(400);
    expect(JSON.parse(reply.text).error).toMatchObject({
      code: -32600,
      message: expect.stringContaining("16384 characters"),
    });
  }
});

it("a client that disconnects ends its call, and nothing of it stays", async () => {
  const ends = Array.from({ length: 10 }, async (_, index) => {
    const controller = new AbortController();
    const asked = fetch(`${service.url}/mcp`, {
      method: "POST",
      headers: { "content-type": "application/json", accept: "application/json, text/event-stream" },
      body: messageOf("tools/call", { name: "search", arguments: { q: "x" } }),
      signal: controller.signal,
    });
    setImmediate(() => setTimeout(() => controller.abort(), index));
    return asked.then(
      (reply) => reply.text(),
      () => "aborted",
    );
  });
  await Promise.allSettled(ends);
  expect((await postRaw(service, messageOf("ping"))).status).toBe(200);
  expect(service.log.filter(({ level }) => (level as number) >= 50)).toEqual([]);
});

it("many clients at once each get their own answer", async () => {
  const clients = await Promise.all(Array.from({ length: 8 }, () => connect(service, key)));
  const titles = clients.map((_, index) => `The title ${index}`);
  const results = await Promise.all(
    clients.map((client, index) => callTool(client, "create_post", { title: titles[index] })),
  );
  expect(results.map(({ body }) => body.post.title)).toEqual(titles);
});
