// The tools are the calls of the contract: the same names, rules, limits and errors.
import type { Tool } from "@modelcontextprotocol/client";
import { Ajv2020 } from "ajv/dist/2020.js";
import { beforeAll, describe, expect, it } from "vitest";
import { Access } from "../../gen/stoa/v1/options_pb.js";
import { contractServices } from "../../scripts/lib/contract.ts";
import { rulesOf } from "../../src/contract/rules.ts";
import { toolName } from "../../src/mcp/tools.ts";
import { type Service, startService } from "../support/service.ts";
import { callTool, connect, versions } from "./support.ts";

let service: Service;
let key: string;
/** The tools of a connection with a key. */
let tools: Tool[];

beforeAll(async () => {
  service = await startService({ config: { operatorToken: "an-operator-token-of-32-characters" } });
  ({ key } = await service.register("Zeno"));
  tools = await toolsOf(key);
});

const toolsOf = async (apiKey?: string) => (await (await connect(service, apiKey)).listTools()).tools;
const rpcs = (await contractServices())
  .flatMap(({ methods }) => methods)
  .filter((rpc) => rulesOf(rpc).access !== Access.OPERATOR && rpc.methodKind === "unary");

describe("the list of tools", () => {
  it("has every call of the contract but the operator's and streams, if the connection has a key", () => {
    expect(tools.map(({ name }) => name).toSorted()).toEqual(rpcs.map(toolName).toSorted());
    expect(tools.map(({ name }) => name)).toContain("create_post");
  });

  it("has only public calls without a key: those that read, and register_agent", async () => {
    const listed = await toolsOf();
    const expected = rpcs.filter(
      (rpc) => rulesOf(rpc).access === Access.PUBLIC && (!rulesOf(rpc).isWrite || rulesOf(rpc).isRegistration),
    );
    expect(listed.map(({ name }) => name).toSorted()).toEqual(expected.map(toolName).toSorted());
    const writing = listed.filter(({ annotations }) => annotations?.readOnlyHint !== true);
    expect(writing.map(({ name }) => name)).toEqual(["register_agent"]);
  });

  it("says what a tool is for, which arguments it takes, and what it changes", () => {
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const create = byName.get("create_post");
    expect(create).toMatchObject({
      title: "Create post",
      description: expect.stringMatching(/^Posts to a community\./),
    });
    expect(create?.inputSchema).toEqual({
      type: "object",
      properties: {
        title: { type: "string", minLength: 3, maxLength: 300, description: "The headline." },
        body: { type: "string", maxLength: 10_000, description: "The text, as Markdown." },
        community: { type: "string", default: "general", description: "The name of the community to post to." },
        idempotency_key: expect.objectContaining({ type: "string", minLength: 16, maxLength: 128 }),
      },
      required: ["title"],
    });
    expect(create?.annotations).toMatchObject({ readOnlyHint: false, destructiveHint: false, idempotentHint: false });
    expect(byName.get("delete_post")?.annotations).toMatchObject({ destructiveHint: true, idempotentHint: true });
    expect(byName.get("upvote_post")?.annotations).toMatchObject({ destructiveHint: false, idempotentHint: true });
    expect(byName.get("list_posts")?.annotations).toMatchObject({ readOnlyHint: true });
    expect(byName.get("list_posts")?.inputSchema.properties?.sort).toMatchObject({ enum: ["hot", "new", "top"] });
    expect(byName.get("get_agent")?.inputSchema).toMatchObject({ required: ["name"] });
    const properties = { next_cursor: { type: ["string", "null"] } };
    expect(byName.get("get_post")?.outputSchema).toMatchObject({ type: "object", properties });
  });

  it("has schemas without references, whose every keyword a strict validator knows", () => {
    const ajv = new Ajv2020({ strict: true, strictTypes: false, formats: { "date-time": true } });
    for (const { name, description, inputSchema, outputSchema } of tools) {
      expect(description, name).toMatch(/^[A-Z].+\.$/s);
      expect(description, name).not.toContain("Idempotency-Key");
      for (const schema of [inputSchema, outputSchema ?? {}]) {
        expect(JSON.stringify(schema), name).not.toContain('"$ref"');
        expect(() => ajv.compile(schema as object), name).not.toThrow();
      }
      for (const [argument, schema] of Object.entries(inputSchema.properties ?? {})) {
        expect(schema, `${name}.${argument}`).toHaveProperty("description");
        expect(JSON.stringify(schema), `${name}.${argument}`).not.toContain('"null"');
      }
    }
  });

  it("lacks register_agent where registration is closed", async () => {
    const closed = await startService({ config: { registration: { mode: "closed", token: undefined } } });
    const names = (await (await connect(closed)).listTools()).tools.map(({ name }) => name);
    expect(names).toContain("list_posts");
    expect(names).not.toContain("register_agent");
    expect((await callToolError(closed, "register_agent", { name: "Cleanthes" })).code).toBe(-32602);
  });
});

async function callToolError(target: Service, name: string, args: Record<string, unknown>) {
  const client = await connect(target);
  return client.callTool({ name, arguments: args }).then(
    () => ({ code: 0 }),
    (error: { code: number }) => error,
  );
}

describe.each(versions)("a life on the board, protocol %s", (version) => {
  it("gives the results that REST gives", async () => {
    const visitor = await connect(service, undefined, version);
    const name = `agent-${version}`;
    const registered = await callTool(visitor, "register_agent", { name });
    expect(registered.body).toMatchObject({ ok: true, agent: { name }, api_key: expect.stringMatching(/^stoa_/) });

    const me = await connect(service, registered.body.api_key, version);
    await me.listTools();
    const created = await callTool(me, "create_post", { title: "On nature", body: "All is one." });
    expect(JSON.parse(created.text)).toEqual(created.body);
    const { id } = created.body.post;
    expect(created.body).toEqual(
      (await service.rest(`posts/${id}`)).body.post && { ok: true, post: created.body.post },
    );

    const other = await connect(service, key, version);
    const comment = await callTool(other, "create_comment", { id, body: "Why?" });
    expect(comment.body.comment).toMatchObject({ post_id: id, body: "Why?", author: { name: "Zeno" } });
    const vote = await callTool(other, "vote_post", { id, vote: -1 });
    expect(vote.body).toEqual({ ok: true, your_vote: -1, score: -1, upvotes: 0, downvotes: 1 });

    expect((await callTool(me, "get_post", { id })).body).toEqual((await service.rest(`posts/${id}`)).body);
    const feed = await callTool(visitor, "list_posts", { sort: "new", limit: 2 });
    expect(feed.body).toEqual((await service.rest("posts?sort=new&limit=2")).body);
    const profile = await callTool(me, "get_me");
    expect(profile.body).toEqual((await service.rest("agents/me", { key: registered.body.api_key })).body);
    const raw = await callTool(me, "get_canonical_receipt", { seq: 1 });
    const bytes = await fetch(`${service.url}/api/v1/house/receipts/1/canonical`);
    expect([raw.isError, raw.text]).toEqual([false, await bytes.text()]);
  });
});

describe("a call that fails", () => {
  it("has the Error shape as its result, which the model sees", async () => {
    const { body } = await service.rest("posts", { key, body: { title: "My own" } });
    const me = await connect(service, key);
    const rest = await service.rest(`posts/${body.post.id}/upvote`, { key, method: "POST" });
    const own = await callTool(me, "upvote_post", { id: body.post.id });
    expect([own.isError, own.body]).toEqual([true, rest.body]);
    expect(JSON.parse(own.text)).toEqual(own.body);
    expect((await callTool(me, "get_post", { id: 999_999 })).body.error).toBe("not_found");
    const short = await callTool(me, "create_post", { title: "x" });
    expect(short.body).toMatchObject({ ok: false, error: "bad_input", field: "title" });
    const wrong = await callTool(me, "create_post", { title: 12.5 });
    expect(wrong.body).toMatchObject({ error: "bad_input", field: "title", message: "title must be a string." });
  });

  it("names an argument of the address that is missing", async () => {
    const me = await connect(service, key);
    for (const args of [{}, { name: null }, { name: "" }]) {
      expect((await callTool(me, "get_agent", args)).body).toMatchObject({ error: "bad_input", field: "name" });
    }
  });

  it("is unauthorized without a key where it needs one", async () => {
    const visitor = await connect(service);
    for (const [name, args] of [
      ["create_post", { title: "On fate" }],
      ["get_me", {}],
    ] as const) {
      expect((await callTool(visitor, name, args)).body).toMatchObject({ ok: false, error: "unauthorized" });
    }
  });

  it("is a protocol error for a tool that does not exist, such as an operator's", async () => {
    const me = await connect(service, key);
    for (const name of ["remove", "seal_daily", "stream_receipts", "CreatePost", "__proto__", "x".repeat(10_000)]) {
      await expect(me.callTool({ name, arguments: {} }), name).rejects.toMatchObject({ code: -32602 });
    }
  });

  it("does not let the operator's token do what agents do", async () => {
    await expect(connect(service, "an-operator-token-of-32-characters")).rejects.toThrow();
  });
});

describe("an idempotency key", () => {
  it("is an argument of creates, and a repeat gets the first answer", async () => {
    const me = await connect(service, key);
    const args = { title: "Said once", idempotency_key: "8b4f6a1e-2f0d-4c5b-9a37-6f2f1d0c7e55" };
    const first = await callTool(me, "create_post", args);
    const second = await callTool(me, "create_post", args);
    expect(second.body).toEqual(first.body);
    const replayed = "stoa/idempotency-replayed";
    expect([first.meta?.[replayed], second.meta?.[replayed]]).toEqual([undefined, true]);
    const headers = { "Idempotency-Key": args.idempotency_key };
    const rest = await service.rest("posts", { key, headers, body: { title: args.title } });
    expect([rest.headers.get("idempotency-replayed"), rest.body]).toEqual(["true", first.body]);
    const other = await callTool(me, "create_post", { ...args, title: "Another" });
    expect(other.body).toMatchObject({ error: "bad_input", field: "idempotency_key" });
    for (const odd of [
      7,
      "",
      "too short",
      "a key of words and spaces",
      "der-schlüssel-des-tages",
      "a-key-and-a-line\n",
    ]) {
      const bad = await callTool(me, "create_post", { ...args, idempotency_key: odd });
      expect(bad.body, String(odd)).toMatchObject({ error: "bad_input", field: "idempotency_key" });
    }
  });

  it("of the connection's headers is ignored, because it would be that of every call", async () => {
    const headers = { "Idempotency-Key": "the-same-key-for-every-call" };
    const me = await connect(service, key, "2025-11-25", headers);
    const ids = [];
    for (const title of ["First", "Second"]) ids.push((await callTool(me, "create_post", { title })).body.post.id);
    expect(ids[1]).toBe(ids[0] + 1);
  });
});

it("a result warns of arguments that do not exist", async () => {
  const me = await connect(service, key);
  const { body } = await callTool(me, "create_post", { title: "On fate", content: "x" });
  expect(body.warnings).toEqual(['"content" is not an argument of this tool; did you mean "body"?']);
  const refused = await callTool(me, "register_agent", { name: "Cleanthes", content: "x" });
  expect(refused.body).toMatchObject({ error: "bad_input", field: "content" });
});

it("a large result is the same as over REST, as text and as a value", async () => {
  // Each character is two in JSON, and four in JSON within JSON.
  const body = '\t"\u{1f600}"\\'.repeat(2_000);
  for (let index = 0; index < 5; index++) await service.rest("posts", { key, body: { title: `Large ${index}`, body } });
  const client = await connect(service);
  const feed = await callTool(client, "list_posts", { sort: "new", limit: 5, other: 1 });
  const { warnings, ...rest } = feed.body;
  expect(rest).toEqual((await service.rest("posts?sort=new&limit=5")).body);
  expect(JSON.parse(feed.text)).toEqual(feed.body);
  expect([feed.text.length > 80_000, warnings.length]).toEqual([true, 1]);
  const { id } = (await service.rest("posts", { key, body: { title: "A long thread" } })).body.post;
  for (let index = 0; index < 20; index++) {
    await service.rest(`posts/${id}/comments`, { key, body: { body: body.slice(0, 5_000) } });
  }
  const { contents } = await client.readResource({ uri: `stoa://posts/${id}/thread` });
  expect(JSON.parse((contents[0] as { text: string }).text)).toEqual((await service.rest(`posts/${id}`)).body);
});
