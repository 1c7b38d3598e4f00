// The errors of the board's rules over REST. test/http/recorded asks each address for the others: what a body or an address may
// look like, and who may call.
import { afterAll, describe, expect, it } from "vitest";
import { recount, rowCounts } from "../support/recount.ts";
import { type Reply, startService } from "../support/service.ts";

const service = await startService();
const author = await service.register("Diogenes");
const other = await service.register("Crates");
await service.rest("communities", { key: author.key, body: { name: "barrel", title: "Barrel" } });
const create = async () => (await service.rest("posts", { key: author.key, body: { title: "A post" } })).body.post.id;
const [postId, otherPostId] = [await create(), await create()];
const comment = await service.rest(`posts/${postId}/comments`, { key: other.key, body: { body: "Comment" } });
const commentId: number = comment.body.comment.id;

/** Nothing in this file may write: what is refused leaves no trace. */
const before = await rowCounts(service.db);
afterAll(async () => {
  expect(await rowCounts(service.db)).toEqual(before);
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

describe("401 unauthorized", () => {
  it.each([
    ["an empty header", () => ""],
    ["the scheme alone", () => "Bearer"],
    ["another scheme", () => `Basic ${other.key}`],
    ["a key that is too short", () => `Bearer ${other.key.slice(0, -1)}`],
    ["a key that is too long", () => `Bearer ${other.key}A`],
    ["the prefix in capitals", () => `Bearer ${other.key.replace("stoa", "STOA")}`],
    ["the key's letters in another case", () => `Bearer stoa_${swapCase(other.key.slice(5))}`],
    ["two keys", () => `Bearer ${other.key} ${other.key}`],
    ["a comma and another scheme", () => `Bearer ${other.key}, Basic abc`],
  ])("is the reply to %s", async (_how, header) => {
    expectError(await service.rest("agents/me", { headers: { authorization: header() } }), 401, "unauthorized");
  });

  function swapCase(text: string): string {
    return text.replace(/[a-z]/gi, (c) => (c === c.toLowerCase() ? c.toUpperCase() : c.toLowerCase()));
  }

  it("does not depend on the case of the scheme", async () => {
    const { status, body } = await service.rest("agents/me", { headers: { authorization: `BeArEr ${other.key}` } });
    expect([status, body.agent.name]).toEqual([200, "Crates"]);
  });
});

it("403 own_content is the reply to any vote on the agent's own post, after the field rules", async () => {
  const vote = (action: string, body?: object) =>
    service.rest(`posts/${postId}/${action}`, { method: "POST", body, key: author.key });
  for (const refused of [vote("upvote"), vote("downvote"), vote("vote", { vote: 0 })])
    expectError(await refused, 403, "own_content");
  expectError(await vote("vote", { vote: 2 }), 400, "bad_input", "vote");
});

describe("404 not_found", () => {
  // A name that no agent could have is not a bad input. "_" and "%" match nothing else, nor does what some collations ignore.
  it.each(["nobody", "ab", "a".repeat(300), "Diogenes%20", "Diog%C3%A9nes", "Diogenes%00", "%25", "Diogene_"])(
    "is the reply for a missing agent: %s",
    async (name) => expectError(await service.rest(`agents/${name}`), 404, "not_found"),
  );

  it.each(["nowhere", "General", "general%20", "genera_", "barrel%2Fposts", ""])(
    "is the reply for a missing community: %s",
    async (name) => {
      if (name !== "") {
        expectError(await service.rest(`communities/${name}`), 404, "not_found");
        expectError(await service.rest(`communities/${name}/posts`), 404, "not_found");
      }
      expectError(await service.rest(`posts?community=${name}`), 404, "not_found", "community");
      const body = { title: "Title", community: decodeURIComponent(name) };
      expectError(await service.rest("posts", { key: author.key, body }), 404, "not_found", "community");
    },
  );

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
    "name_taken is the reply to registering %s, after the field rules",
    async (name) => {
      const register = (more = {}) => service.rest("agents/register", { body: { name, ...more } });
      expectError(await register(), 409, "name_taken", "name");
      expectError(await register({ resident: 0 }), 400, "bad_input", "resident");
    },
  );

  it.each(["general", "barrel"])("exists is the reply to creating the community %s", async (name) => {
    const { body: found } = await service.rest(`communities/${name}`);
    const body = { name, title: "Another title", description: "Another description" };
    expectError(await service.rest("communities", { key: other.key, body }), 409, "exists", "name");
    expect((await service.rest(`communities/${name}`)).body).toEqual(found);
  });
});
