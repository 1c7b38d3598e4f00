// Every row of the error table over REST: status, code, field, headers; and that a refused write leaves no trace.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { recount, rowCounts } from "../support/recount.ts";
import { type Ask, type Reply, type Service, startService } from "../support/service.ts";

const unknownKey = `stoa_${"A".repeat(43)}`;
const maxBytes = 256 * 1024;

let service: Service;
let author: { name: string; key: string };
let other: { name: string; key: string };
let postId: number;
let otherPostId: number;
let commentId: number;
let before: Record<string, number>;

beforeAll(async () => {
  service = await startService();
  author = await service.register("Diogenes");
  other = await service.register("Crates");
  await service.rest("communities", { key: author.key, body: { name: "barrel", title: "Barrel" } });
  const create = async () => (await service.rest("posts", { key: author.key, body: { title: "A post" } })).body.post.id;
  [postId, otherPostId] = [await create(), await create()];
  const comment = await service.rest(`posts/${postId}/comments`, { key: other.key, body: { body: "Comment" } });
  commentId = comment.body.comment.id;
});

beforeEach(async () => {
  before = await rowCounts(service.db);
});

/** Nothing in this file but `registers` may write. */
let registers = 0;
afterEach(async () => {
  expect(await rowCounts(service.db)).toEqual({ ...before, agents: (before.agents as number) + registers });
  registers = 0;
});

afterAll(async () => {
  expect(await recount(service.db)).toEqual([]);
});

function expectError(reply: Reply, status: number, error: string, field?: string): void {
  const message = expect.stringMatching(/./);
  expect(reply.body).toEqual({ ok: false, error, message, ...(field === undefined ? {} : { field }) });
  expect(Object.keys(reply.body).slice(0, 2)).toEqual(["ok", "error"]);
  expect(reply.status).toBe(status);
  expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(reply.headers.get("www-authenticate")).toBe(status === 401 ? "Bearer" : null);
}

/** Every operation that needs a key, with a request that is good but for the key. */
const protectedOperations: [name: string, path: () => string, ask: Ask][] = [
  ["GET /agents/me", () => "agents/me", {}],
  ["POST /communities", () => "communities", { body: { name: "new-place", title: "Place" } }],
  ["POST /posts", () => "posts", { body: { title: "Title" } }],
  ["POST /posts/{id}/comments", () => `posts/${postId}/comments`, { body: { body: "Comment" } }],
  ["POST /posts/{id}/upvote", () => `posts/${postId}/upvote`, { method: "POST" }],
  ["POST /posts/{id}/downvote", () => `posts/${postId}/downvote`, { method: "POST" }],
  ["POST /posts/{id}/vote", () => `posts/${postId}/vote`, { body: { vote: 1 } }],
  ["GET /posts/{id}/vote", () => `posts/${postId}/vote`, {}],
  ["POST /comments/{id}/upvote", () => `comments/${commentId}/upvote`, { method: "POST" }],
  ["POST /comments/{id}/downvote", () => `comments/${commentId}/downvote`, { method: "POST" }],
  ["POST /comments/{id}/vote", () => `comments/${commentId}/vote`, { body: { vote: 1 } }],
  ["GET /comments/{id}/vote", () => `comments/${commentId}/vote`, {}],
];

describe.each(protectedOperations)("401 unauthorized: %s", (_name, path, ask) => {
  it("needs a valid key, and says so before any other error", async () => {
    const bodies = ask.body === undefined ? [undefined] : [ask.body, "{", "{}", `"${"x".repeat(maxBytes)}"`];
    for (const body of bodies) {
      for (const key of [undefined, unknownKey])
        expectError(await service.rest(path(), { ...ask, body, key }), 401, "unauthorized");
    }
  });
});

it.each([
  ["an empty header", () => ""],
  ["the scheme alone", () => "Bearer"],
  ["an empty key", () => "Bearer "],
  ["the key alone", () => other.key],
  ["another scheme", () => `Basic ${other.key}`],
  ["a key that is too short", () => `Bearer ${other.key.slice(0, -1)}`],
  ["a key that is too long", () => `Bearer ${other.key}A`],
  ["another prefix", () => `Bearer ${other.key.replace("stoa", "moltbook")}`],
  ["the prefix in capitals", () => `Bearer ${other.key.replace("stoa", "STOA")}`],
  ["the key's letters in another case", () => `Bearer stoa_${swapCase(other.key.slice(5))}`],
  ["two keys", () => `Bearer ${other.key} ${other.key}`],
  ["a comma and another scheme", () => `Bearer ${other.key}, Basic abc`],
  ["the key in quotes", () => `Bearer "${other.key}"`],
])("401 unauthorized is the reply to %s", async (_how, header) => {
  expectError(await service.rest("agents/me", { headers: { authorization: header() } }), 401, "unauthorized");
});

function swapCase(text: string): string {
  return text.replace(/[a-z]/gi, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()));
}

describe("401 unauthorized", () => {
  it("comes before 404 for a post, and after 404 for a route", async () => {
    expectError(await service.rest("posts/999999/upvote", { method: "POST" }), 401, "unauthorized");
    expectError(await service.rest("posts/abc/upvote", { method: "POST" }), 401, "unauthorized");
    expectError(await service.rest("posts/1/sidevote", { method: "POST" }), 404, "not_found");
  });

  it.each(["bearer", "BEARER", "BeArEr"])("does not depend on the case of the scheme: %s", async (scheme) => {
    const { status, body } = await service.rest("agents/me", { headers: { authorization: `${scheme} ${other.key}` } });
    expect(status).toBe(200);
    expect(body.agent.name).toBe("Crates");
  });

  it.each(["posts", "feed", "communities", "communities/general", "communities/general/posts", "agents/Crates"])(
    "is not the reply to a bad key on the public GET /%s",
    async (path) => {
      for (const authorization of [`Bearer ${unknownKey}`, "Bearer", "Basic x", "\u00ff"]) {
        expect((await service.rest(path, { headers: { authorization } })).status).toBe(200);
      }
    },
  );

  it("is not the reply to a bad key on a registration", async () => {
    const { status } = await service.rest("agents/register", { key: unknownKey, body: { name: "Unbothered" } });
    expect(status).toBe(201);
    registers = 1;
  });
});

describe("403 own_content", () => {
  it.each<[string, string, Ask]>([
    ["an upvote", "upvote", { method: "POST" }],
    ["a downvote", "downvote", { method: "POST" }],
    ["a vote of 1", "vote", { body: { vote: 1 } }],
    ["a vote of -1", "vote", { body: { vote: -1 } }],
    ["a vote of 0", "vote", { body: { vote: 0 } }],
  ])("is the reply to %s on the agent's own post", async (_what, action, ask) => {
    expectError(await service.rest(`posts/${postId}/${action}`, { ...ask, key: author.key }), 403, "own_content");
    const { post } = (await service.rest(`posts/${postId}`)).body;
    expect(post).toMatchObject({ score: 0, upvotes: 0, downvotes: 0 });
  });

  it("comes after the field rules", async () => {
    const path = `posts/${postId}/vote`;
    expectError(await service.rest(path, { key: author.key, body: { vote: 2 } }), 400, "bad_input", "vote");
  });
});

describe("404 not_found", () => {
  it("is the reply at a missing route or method", async () => {
    const asks: [string, Ask][] = [
      ["/nothing", {}],
      ["/api", {}],
      ["/api/v1", {}],
      ["/api/v1/", {}],
      ["/api/v2/posts", {}],
      ["/API/v1/posts", {}],
      ["posts/", {}],
      ["agents", {}],
      ["communities//posts", {}],
      ["posts/1/comments/1", {}],
      ["posts/1/upvote", {}],
      ["posts/1/vote", { method: "PATCH", body: "{" }],
      ["feed", { method: "POST" }],
      ["posts", { method: "PUT" }],
      ["communities/general", { method: "DELETE" }],
      ["agents/register", { method: "PUT", body: { name: "abc" } }],
    ];
    for (const [path, ask] of asks) expectError(await service.rest(path, ask), 404, "not_found");
  });

  // A name that no agent could have is not a bad input.
  it.each([
    "nobody",
    "register",
    "ab",
    "a".repeat(300),
    "Diogenes%20",
    "Diog%C3%A9nes",
    "Diogenes%00",
    "%25",
    "Diogene_",
  ])("is the reply for a missing agent: %s", async (name) => {
    expectError(await service.rest(`agents/${name}`), 404, "not_found");
  });

  it.each(["nowhere", "General", "general%20", "genera_", "%00", "a".repeat(300), "barrel%2Fposts"])(
    "is the reply for a missing community: %s",
    async (name) => {
      expectError(await service.rest(`communities/${name}`), 404, "not_found");
      expectError(await service.rest(`communities/${name}/posts`), 404, "not_found");
      for (const feed of ["posts", "feed"]) {
        expectError(await service.rest(`${feed}?community=${name}`), 404, "not_found", "community");
      }
      const community = decodeURIComponent(name);
      const post = await service.rest("posts", { key: author.key, body: { title: "Title", community } });
      expectError(post, 404, "not_found", "community");
    },
  );

  it("is the reply for an empty community name", async () => {
    expectError(await service.rest("posts?community="), 404, "not_found", "community");
    expectError(await service.rest("posts?community"), 404, "not_found", "community");
    const post = await service.rest("posts", { key: author.key, body: { title: "Title", community: "" } });
    expectError(post, 404, "not_found", "community");
  });

  it.each<[string, Ask]>([
    ["", {}],
    ["/comments", {}],
    ["/comments", { body: { body: "Comment" } }],
    ["/upvote", { method: "POST" }],
    ["/downvote", { method: "POST" }],
    ["/vote", { body: { vote: 0 } }],
  ])("is the reply for a missing post: /posts/{id}%s %j", async (suffix, ask) => {
    for (const id of [otherPostId + 1_000_000, Number.MAX_SAFE_INTEGER]) {
      expectError(await service.rest(`posts/${id}${suffix}`, { ...ask, key: other.key }), 404, "not_found");
    }
  });

  it("is the reply for a parent that is missing or on another post", async () => {
    const reply = (id: number, parent_id: number) =>
      service.rest(`posts/${id}/comments`, { key: other.key, body: { body: "Reply", parent_id } });
    expectError(await reply(postId, commentId + 1_000_000), 404, "not_found", "parent_id");
    expectError(await reply(otherPostId, commentId), 404, "not_found", "parent_id");
    expectError(await reply(otherPostId + 1_000_000, commentId), 404, "not_found");
  });
});

describe("409", () => {
  it.each(["Diogenes", "dIOGENES", "register", "Operator", "moderator", "ADMIN", "system_", "re-moved", "Stoa"])(
    "name_taken is the reply to registering %s",
    async (name) => {
      expectError(await service.rest("agents/register", { body: { name } }), 409, "name_taken", "name");
    },
  );

  it("name_taken comes after the field rules", async () => {
    const body = { name: "Diogenes", resident: 0 };
    expectError(await service.rest("agents/register", { body }), 400, "bad_input", "resident");
  });

  it.each(["general", "barrel"])("exists is the reply to creating the community %s", async (name) => {
    const { status: _, body: found } = await service.rest(`communities/${name}`);
    const body = { name, title: "Another title", description: "Another description" };
    expectError(await service.rest("communities", { key: other.key, body }), 409, "exists", "name");
    expect((await service.rest(`communities/${name}`)).body).toEqual(found);
  });
});

/** Every operation that takes a body. */
const operationsWithBody: [name: string, path: () => string][] = [
  ["POST /agents/register", () => "agents/register"],
  ["POST /communities", () => "communities"],
  ["POST /posts", () => "posts"],
  ["POST /posts/{id}/comments", () => `posts/${postId}/comments`],
  ["POST /posts/{id}/vote", () => `posts/${postId}/vote`],
  ["POST /comments/{id}/vote", () => `comments/${commentId}/vote`],
];

it.each<[string, string | Uint8Array]>([
  ["nothing", ""],
  ["white space", " \n"],
  ["half an object", '{"name":"abc"'],
  ["words", "name=abc&title=abc"],
  ["single quotes", "{'name':'abc'}"],
  ["a trailing comma", '{"name":"abc",}'],
  ["a comment", '{"name":"abc"} // abc'],
  ["two values", '{"name":"abc"}{"name":"abc"}'],
  ["NaN", '{"vote":NaN}'],
  ["a leading zero", '{"vote":01}'],
  ["a byte order mark", '\ufeff{"name":"abc"}'],
  ["a key that comes twice", '{"name":"abc","name":"abd"}'],
  ["a key that comes twice, once escaped", '{"title":"abc","t\\u0069tle":"abd"}'],
  ["a raw line break in a string", '{"name":"a\nb"}'],
  ["a bad escape", '{"name":"\\x41bc"}'],
  ["bytes that are not UTF-8", Uint8Array.of(0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d)],
  ["an overlong encoding", Uint8Array.of(0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xc0, 0x80, 0x22, 0x7d)],
])("400 bad_json is the reply to a body of %s", async (_what, body) => {
  expectError(await service.rest("agents/register", { body }), 400, "bad_json");
  expectError(await service.rest("posts", { key: other.key, body }), 400, "bad_json");
});

describe.each(operationsWithBody)("%s", (_name, path) => {
  it("answers 400 to a body that is not JSON, whatever its type, or no object", async () => {
    const ask = (body: string, headers = {}) => service.rest(path(), { key: other.key, body, headers });
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "nonsense", ""])
      expectError(await ask("{", { "content-type": type }), 400, "bad_json");
    for (const body of ['[{"name":"abc"}]', '"abc"', "1", "null"]) expectError(await ask(body), 400, "bad_input");
  });

  it("answers 413 too_large to a body over 256 KiB, and reads one of 256 KiB", async () => {
    const padded = (size: number) =>
      `{"name":${" ".repeat(size - '{"name":5,"title":5,"body":5,"vote":"5"}'.length)}5,"title":5,"body":5,"vote":"5"}`;
    expect((await service.rest(path(), { key: other.key, body: padded(maxBytes) })).body.error).toBe("bad_input");
    expectError(await service.rest(path(), { key: other.key, body: padded(maxBytes + 1) }), 413, "too_large");
    // A body that does not say how long it is.
    const endless = new ReadableStream({ pull: (stream) => stream.enqueue(Buffer.alloc(65_536, " ")) });
    const init = { method: "POST", headers: { authorization: `Bearer ${other.key}` }, body: endless, duplex: "half" };
    const response = await fetch(`${service.url}/api/v1/${path()}`, init as RequestInit);
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ ok: false, error: "too_large" });
  });
});

describe("400 bad_input", () => {
  it.each([
    ["agents/%zz", "name"],
    ["agents/%ff", "name"],
    ["communities/%c3", "name"],
    ["communities/%/posts", "name"],
    ["posts/%zz", "id"],
    ["posts/%", "id"],
  ])("is the reply to broken percent-encoding: %s", async (path, field) => {
    const reply = await service.rest(path);
    expect(reply.body).toMatchObject({ ok: false, error: "bad_input" });
    expect([undefined, field]).toContain(reply.body.field);
    expect(reply.status).toBe(400);
  });
});
