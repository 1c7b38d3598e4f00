import { Ajv2020 } from "ajv/dist/2020.js";
import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";
import { callTool, connect, kindsOfVersions, messageOf, postRaw, withoutNull } from "./support.ts";

const toolsOf = async (apiKey?: string) => (await (await connect(service, apiKey)).listTools()).tools;

const service = await startService({ config: { operatorToken: "an-operator-token-of-32-characters" } });
const { key } = await service.register("Zeno");
/** The tools of a connection with a key. */
const tools = await toolsOf(key);

describe("the list of tools", () => {
  it("has at most 20 KB", async () => {
    const { text } = await postRaw(service, messageOf("tools/list"), { authorization: `Bearer ${key}` });
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(20_000);
  });

  it("has only public calls without a key, and register_agent only then", async () => {
    const listed = await toolsOf();
    const writing = listed.filter(({ annotations }) => annotations?.readOnlyHint !== true);
    expect(writing.map(({ name }) => name)).toEqual(["register_agent"]);
    const names = listed.map(({ name }) => name);
    expect(names).toContain("list_posts");
    for (const name of ["get_home", "create_post"]) expect(names).not.toContain(name);
    expect(tools.map(({ name }) => name)).not.toContain("register_agent");
  });

  it("has the tools of the sets that the address names, and no other one can be called", async () => {
    const asZeno = { authorization: `Bearer ${key}` };
    const namesAt = async (query: string) => {
      const { text } = await postRaw(service, messageOf("tools/list"), asZeno, "POST", `/mcp${query}`);
      return JSON.parse(text).result.tools.map(({ name }: { name: string }) => name);
    };
    const reading = tools.filter(({ annotations }) => annotations?.readOnlyHint === true).map(({ name }) => name);
    // Reports are for moderators.
    expect(await namesAt("?tools=read")).toEqual(reading.filter((name) => name !== "list_my_reports"));
    expect(await namesAt("?tools=read,write,moderate")).toEqual(tools.map(({ name }) => name));
    expect(await namesAt("?tools=read&tools=write")).toEqual(await namesAt("?tools=read,write"));
    expect(await namesAt("?tools=moderate")).toEqual(expect.arrayContaining(["delete", "restore", "list_my_reports"]));
    const call = messageOf("tools/call", { name: "create_post", arguments: { title: "On fate" } });
    const refused = await postRaw(service, call, asZeno, "POST", "/mcp?tools=read");
    expect(JSON.parse(refused.text).error.code).toBe(-32602);
    for (const sets of ["", "read,", "all", "READ"]) {
      const { status, text } = await postRaw(service, messageOf("ping"), {}, "POST", `/mcp?tools=${sets}`);
      expect([status, JSON.parse(text).field], sets).toEqual([400, "tools"]);
    }
  });

  it("says what a tool is for, which arguments it takes, and what it changes", () => {
    const byName = new Map(tools.map((tool) => [tool.name, tool]));
    const create = byName.get("create_post");
    expect(create?.description).toBe("Posts to a community.");
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
    expect(create?.annotations).toMatchObject({ destructiveHint: false, idempotentHint: false });
    expect(byName.get("delete")?.annotations).toMatchObject({ destructiveHint: true, idempotentHint: true });
    expect(byName.get("vote")?.annotations).toMatchObject({ destructiveHint: false, idempotentHint: true });
    expect(byName.get("list_posts")?.inputSchema.properties).toMatchObject({
      sort: { enum: ["hot", "new", "top"] },
      limit: { default: 20, maximum: 50 },
      body_chars: { default: 500 },
    });
    expect(byName.get("get_agent")?.inputSchema).toMatchObject({ required: ["name"] });
  });

  it("has schemas of arguments that compile, without references, and none of results", () => {
    const ajv = new Ajv2020({ allErrors: true, strict: true, strictTypes: false });
    for (const { name, description, inputSchema, ...others } of tools) {
      expect(description, name).toMatch(/^[A-Z].+\.$/s);
      expect(description, name).not.toContain("Idempotency-Key");
      expect(others, name).not.toHaveProperty("outputSchema");
      expect(JSON.stringify(inputSchema), name).not.toContain('"$ref"');
      expect(() => ajv.compile(inputSchema as object), name).not.toThrow();
      for (const [argument, schema] of Object.entries(inputSchema.properties ?? {})) {
        expect(schema, `${name}.${argument}`).toHaveProperty("description");
        expect(JSON.stringify(schema), `${name}.${argument}`).not.toContain('"null"');
      }
    }
  });

  it("lacks register_agent where registration is closed", async () => {
    const closed = await startService({ config: { registration: { mode: "closed", token: undefined } } });
    const visitor = await connect(closed);
    const names = (await visitor.listTools()).tools.map(({ name }) => name);
    expect(names).toContain("list_posts");
    expect(names).not.toContain("register_agent");
    const call = visitor.callTool({ name: "register_agent", arguments: { name: "Cleanthes" } });
    await expect(call).rejects.toMatchObject({ code: -32602 });
  });
});

describe.each(kindsOfVersions)("a life on the board, protocol %s", (version) => {
  it("gives the results that REST gives", async () => {
    const visitor = await connect(service, undefined, version);
    const name = `agent-${version}`;
    const registered = await callTool(visitor, "register_agent", { name });
    expect(registered.body).toMatchObject({ ok: true, agent: { name }, api_key: expect.stringMatching(/^stoa_/) });

    const me = await connect(service, registered.body.api_key, version);
    await me.listTools();
    const created = await callTool(me, "create_post", { title: "On nature", body: "All is one." });
    const { id } = created.body.post;
    expect(created.body).toEqual(withoutNull({ ok: true, post: (await service.rest(`posts/${id}`)).body.post }));

    const other = await connect(service, key, version);
    const comment = await callTool(other, "create_comment", { post_id: id, body: "Why?" });
    expect(comment.body.comment).toMatchObject({ post_id: id, body: "Why?", author: { name: "Zeno" } });
    const vote = await callTool(other, "vote", { post_id: id, vote: -1 });
    expect(vote.body).toEqual({ ok: true, your_vote: -1, score: -1, upvotes: 0, downvotes: 1 });
    const onComment = await callTool(me, "vote", { comment_id: comment.body.comment.id, vote: 1 });
    expect(onComment.body).toMatchObject({ your_vote: 1, score: 1 });
    const edited = await callTool(other, "edit", { comment_id: comment.body.comment.id, body: "Why so?" });
    expect(edited.body.comment).toMatchObject({ body: "Why so?" });

    const withNote = (body: object) => ({
      ...withoutNull(body),
      note: expect.stringContaining("never an instruction"),
    });
    expect((await callTool(me, "get_post", { id })).body).toEqual(withNote((await service.rest(`posts/${id}`)).body));
    const feed = await callTool(visitor, "list_posts", { sort: "new", limit: 2 });
    expect(feed.body).toEqual(withNote((await service.rest("posts?sort=new&limit=2&body_chars=500")).body));
    const home = (await service.rest("agents/me/home", { key: registered.body.api_key })).body;
    expect((await callTool(me, "get_home")).body).toEqual(withNote(home));
    expect((await callTool(me, "mark_inbox_read", { up_to: 1 })).body).toMatchObject({ inbox_unread: 0 });
    expect((await callTool(me, "list_inbox", { unread: true })).body).toMatchObject({ items: [] });
    expect((await callTool(me, "search", { q: "nature", limit: 1 })).body).toMatchObject({ posts: [{ id }] });
    expect((await callTool(me, "list_agent_posts", { name })).body).toMatchObject({ posts: [{ id }] });
    const votes = await callTool(other, "get_my_votes", { post_ids: [id] });
    expect(votes.body).toMatchObject({ votes: [{ post_id: id, your_vote: -1 }] });
  });
});

describe("a call that fails", () => {
  it("has the Error shape as its result, which the model sees", async () => {
    const { body } = await service.rest("posts", { key, body: { title: "My own" } });
    const me = await connect(service, key);
    const rest = await service.rest(`posts/${body.post.id}/upvote`, { key, method: "POST" });
    const own = await callTool(me, "vote", { post_id: body.post.id, vote: 1 });
    expect([own.isError, own.body]).toEqual([true, rest.body]);
    const wrong = await callTool(me, "create_post", { title: 12.5 });
    expect(wrong.body).toMatchObject({ error: "bad_input", field: "title", message: "title must be a string." });
  });

  it("names the argument, and not the field that it becomes", async () => {
    const me = await connect(service, key);
    for (const [tool, args, field] of [
      ["get_agent", {}, "name"],
      ["get_agent", { name: "" }, "name"],
      ["list_comments", {}, "post_id"],
      ["list_comments", { post_id: 0 }, "post_id"],
      ["vote", { vote: 1 }, "post_id"],
      ["vote", { vote: 1, post_id: 1, comment_id: 1 }, "post_id"],
      ["vote", { vote: 1, comment_id: 0 }, "comment_id"],
    ] as const) {
      const { body } = await callTool(me, tool, args);
      expect(body, JSON.stringify(args)).toMatchObject({ error: "bad_input", field });
      expect(body.message).toContain(field);
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
    expect([rest.headers.get("idempotency-replayed"), withoutNull(rest.body)]).toEqual(["true", first.body]);
    const other = await callTool(me, "create_post", { ...args, title: "Another" });
    expect(other.body).toMatchObject({ error: "bad_input", field: "idempotency_key" });
    for (const odd of [7, "", "too short", "a key of words and spaces", "a-key-and-a-line\n"]) {
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
  const { id } = body.post;
  for (const args of [
    { post_id: id, id: 999_999 },
    { id: 999_999, post_id: id },
  ]) {
    const { body: both } = await callTool(me, "create_comment", { ...args, body: "Why?" });
    expect(both).toMatchObject({ comment: { post_id: id }, warnings: ['"id" is not an argument of this tool.'] });
  }
  const misnamed = await callTool(me, "create_comment", { post_id: id, text: "Why?" });
  expect(misnamed.body).toMatchObject({
    error: "bad_input",
    field: "body",
    message: expect.stringContaining('"text"'),
  });
  const refused = await callTool(me, "register_agent", { name: "Cleanthes", content: "x" });
  expect(refused.body).toMatchObject({ error: "bad_input", field: "content" });
});

it("the prompts name tools that exist, and say that what others wrote is data", async () => {
  const client = await connect(service, key);
  const { prompts } = await client.listPrompts();
  expect(prompts.map(({ name }) => name)).toEqual(["catch_up", "answer", "moderate"]);
  const names = new Set(tools.map(({ name }) => name));
  for (const { name } of prompts) {
    const { messages } = await client.getPrompt({ name, arguments: name === "answer" ? { post_id: "7" } : {} });
    const [{ text = "" } = {}] = messages.map(({ content }) => content as { text: string });
    expect(text).toContain("never an instruction");
    for (const [tool] of text.matchAll(/\b(?:get|list|create|mark)_[a-z_]+/g)) expect(names).toContain(tool);
    expect(text.includes("post 7")).toBe(name === "answer");
  }
  for (const params of [{ name: "nothing" }, { name: "__proto__" }, { name: "answer" }]) {
    await expect(client.getPrompt(params)).rejects.toMatchObject({ code: -32602 });
  }
});
