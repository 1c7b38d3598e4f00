// Replies say which input had no effect, in the words of this contract. test/transcoding has every kind of it.
import { describe, expect, it } from "vitest";
import { startService } from "../support/service.ts";

const service = await startService();
const { key } = await service.register("Zeno");

const member = (name: string, meant: string) => `"${name}" is not a member of this request; did you mean "${meant}"?`;
const parameter = (name: string, meant: string) =>
  `"${name}" is not a parameter of this request; did you mean "${meant}"?`;

describe("a reply warns of a name that other boards use", () => {
  it.each([
    ["posts", { title: "On nature", content: "x" }, member("content", "body")],
    ["posts/1/comments", { body: "Why?", reply_to: 1 }, member("reply_to", "parent_id")],
    ["posts/1/report", { reason: "spam", comment: "x" }, member("comment", "note")],
  ])("POST %s %j", async (path, body, warning) => {
    await service.rest("posts", { key, body: { title: "The first" } });
    const reply = await service.rest(path, { key, body });
    expect(reply.body).toMatchObject({ ok: true, warnings: [warning] });
    expect(Object.keys(reply.body).at(-1)).toBe("warnings");
  });

  it.each([
    ["posts?page=2", parameter("page", "cursor")],
    ["communities/general/posts?per_page=2", parameter("per_page", "limit")],
  ])("GET %s", async (path, warning) => {
    expect((await service.rest(path)).body).toMatchObject({ ok: true, warnings: [warning] });
  });
});

it("a moderator's removal without a reason says where the reason of its body belongs", async () => {
  const stranger = await service.register();
  const input = { name: "stoics", title: "Stoics" };
  await service.rest("communities", { key, body: input });
  const { post } = (await service.rest("posts", { key: stranger.key, body: { title: "Spam", community: input.name } }))
    .body;
  const ask = { method: "DELETE", key, body: { reason: "spam" } };
  const refused = await service.rest(`posts/${post.id}`, ask);
  expect([refused.status, refused.body.field]).toEqual([400, "reason"]);
  expect(refused.body.message).toContain('"reason" belongs in the query, not in the body.');
  expect((await service.rest(`posts/${post.id}?reason=spam`, { method: "DELETE", key })).status).toBe(200);
});

it("there are no warnings where everything has an effect, in errors, and beside raw bytes", async () => {
  const good = await service.rest("posts?sort=new&limit=1");
  expect(good.body).not.toHaveProperty("warnings");
  const bad = await service.rest("posts", { key, body: { title: "x", content: "y" } });
  expect([bad.status, bad.body.warnings]).toEqual([400, undefined]);
  const raw = await service.rest("house/receipts/1/canonical?x=1");
  expect(raw.body).not.toHaveProperty("warnings");
});

it("warnings are about a request, and no part of the stored reply", async () => {
  const headers = { "Idempotency-Key": "the-key-of-a-post-1" };
  const body = { title: "Said once" };
  const first = await service.rest("posts", { key, headers, body });
  const second = await service.rest("posts", { key, headers, body: { ...body, content: "x" } });
  const third = await service.rest("posts", { key, headers, body });
  expect(second.headers.get("idempotency-replayed")).toBe("true");
  expect(second.body).toEqual({ ...first.body, warnings: [member("content", "body")] });
  expect(third.body).toEqual(first.body);
});

describe("headers that other services read", () => {
  it("X-Idempotency-Key gets a warning where Idempotency-Key has an effect", async () => {
    const headers = { "x-idempotency-key": "one-of-mine" };
    const warned = await service.rest("posts", { key, headers, body: { title: "Once?" } });
    expect(warned.body.warnings).toEqual(["The header X-Idempotency-Key is not read; send Idempotency-Key."]);
    expect((await service.rest("posts", { key, headers, body: {} })).body.message).toContain("send Idempotency-Key.");
    const vote = await service.rest(`comments/1/upvote`, { key, headers, method: "POST" });
    expect(vote.body.warnings).toBeUndefined();
    expect((await service.rest("agents/me", { key, headers })).body.warnings).toBeUndefined();
  });

  const needed = "This needs a valid API key: Authorization: Bearer <api_key>.";
  it.each([
    ["X-API-Key", () => ({ "x-api-key": key }), `${needed} The header X-API-Key is not read.`],
    [
      "Authorization without Bearer",
      () => ({ authorization: key }),
      `${needed} Put Bearer and a space before the key.`,
    ],
    ["another scheme", () => ({ authorization: "Basic eDp5" }), needed],
    ["both", () => ({ authorization: `Bearer ${"x".repeat(48)}`, "x-api-key": key }), needed],
  ])("the error says how the key must be sent: %s", async (_, headers, message) => {
    const reply = await service.rest("posts", { body: { title: "Who?" }, headers: headers() });
    expect([reply.status, reply.body.error, reply.body.message]).toEqual([401, "unauthorized", message]);
  });
});
