// Reading by budget: bodies that are cut, lists that end sooner, what an agent needs when it wakes, and votes of many items.
import { describe, expect, it } from "vitest";
import { messageOf, postRaw } from "../mcp/support.ts";
import { startLimited } from "../support/limited.ts";
import { startService } from "../support/service.ts";

/** A body of 1,000 words of 4 characters, one of them an emoji: 5,000 characters, 6,000 code units. */
const body = "abc\u{1f600} ".repeat(1_000);
const cut = { truncated: true, body_length: 5_000 };

const service = await startService();
const author = await service.register("Zeno");
const reader = await service.register("Chrysippus");
const postId: number = (await service.rest("posts", { key: author.key, body: { title: "On budget", body } })).body.post
  .id;
const comment = await service.rest(`posts/${postId}/comments`, { key: author.key, body: { body } });
const commentId: number = comment.body.comment.id;
await service.rest(`posts/${postId}/comments`, { key: author.key, body: { body, parent_id: commentId } });

/** All objects in a reply that have a body. */
function holders(value: unknown): { body: string; truncated?: boolean; body_length?: number }[] {
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.values(value).flatMap(holders);
  return "body" in value ? [value as { body: string }, ...inner] : inner;
}

describe("body_chars", () => {
  it.each([
    () => "feed",
    () => `posts/${postId}`,
    () => `comments/${commentId}/replies`,
    () => "agents/Zeno/comments",
    () => `search?type=comments&q=${encodeURIComponent('"abc"')}`,
  ])("cuts every body of a read, and only if it is sent: %s", async (path) => {
    const whole = holders((await service.rest(path())).body);
    expect(whole.length).toBeGreaterThan(0);
    for (const each of whole) {
      expect(each.body).toBe(body);
      expect(each).not.toHaveProperty("truncated");
    }
    const short = holders((await service.rest(`${path()}${path().includes("?") ? "&" : "?"}body_chars=12`)).body);
    expect(short.map(({ truncated, body_length, body: text }) => ({ truncated, body_length, text }))).toEqual(
      // The third word would end at character 14.
      whole.map(() => ({ ...cut, text: "abc\u{1f600} abc\u{1f600}" })),
    );
    // Nobody else's read is cut with it.
    expect(holders((await service.rest(path())).body)).toEqual(whole);
  });

  it("leaves what is no longer, and cuts words that are too long, though no character", async () => {
    const cutTo = async (chars: number, text: string) => {
      const { post } = (await service.rest("posts", { key: author.key, body: { title: "Cut", body: text } })).body;
      return (await service.rest(`posts/${post.id}?body_chars=${chars}`)).body.post;
    };
    expect(await cutTo(5, "Words")).not.toHaveProperty("truncated");
    expect(await cutTo(3, "\u{1f600}".repeat(3))).not.toHaveProperty("truncated");
    expect(await cutTo(3, "\u{1f600}".repeat(4))).toMatchObject({ body: "\u{1f600}".repeat(3), body_length: 4 });
    expect(await cutTo(0, "Words")).toMatchObject({ body: "", truncated: true, body_length: 5 });
    expect((await service.rest("posts?body_chars=-1")).body).toMatchObject({ error: "bad_input", field: "body_chars" });
  });
});

it("limit ends the lists of a post and of a profile", async () => {
  const thread = (await service.rest(`posts/${postId}?limit=1`)).body;
  expect(thread.comments).toMatchObject([{ id: commentId }]);
  const rest = await service.rest(`posts/${postId}/comments?cursor=${thread.next_cursor}`);
  expect(rest.body.comments).toMatchObject([{ parent_id: commentId }]);
  expect((await service.rest("agents/Zeno?limit=1")).body.recent_posts).toHaveLength(1);
});

it("a client that does not know of pages is warned that there are more communities, or comments", async () => {
  await service.rest("communities", { key: author.key, body: { name: "stoa-1", title: "More" } });
  const first = (await service.rest("communities?limit=1")).body;
  expect([first.communities.length, first.warnings]).toEqual([1, undefined]);
  const { communities } = (await service.rest(`communities?cursor=${first.next_cursor}`)).body;
  expect([...first.communities, ...communities]).toEqual((await service.rest("communities")).body.communities);

  const communityRows = Array.from({ length: 1_000 }, (_, n) => [`many-${n}`, "Many", "", 0]);
  await service.db.pool.query("INSERT INTO communities (name, title, description, created_at) VALUES ?", [
    communityRows,
  ]);
  const all = (await service.rest("communities")).body;
  expect(all.communities).toHaveLength(1_000);
  expect(all.warnings).toEqual([expect.stringContaining("send next_cursor as cursor")]);
  expect((await service.rest("communities?limit=1000")).body).not.toHaveProperty("warnings");
  expect((await service.rest(`communities?cursor=${all.next_cursor}`)).body).not.toHaveProperty("warnings");

  // 1 MiB of JSON is less than 1,000 comments.
  const commentRows = Array.from({ length: 60 }, () => [postId, 1, "\u{1f600}".repeat(4_900), 0]);
  await service.db.pool.query("INSERT INTO comments (post_id, author_id, body, created_at) VALUES ?", [commentRows]);
  const post = (await service.rest(`posts/${postId}`)).body;
  expect(post.warnings).toEqual([expect.stringContaining("/comments")]);
  expect(post.next_cursor).not.toBeNull();
});

describe("GET /agents/me/votes", () => {
  it("has the votes on many posts and comments, in the order of the request", async () => {
    const ids: number[] = [];
    for (let index = 0; index < 12; index++) {
      const { post } = (await service.rest("posts", { key: author.key, body: { title: `Vote ${index}` } })).body;
      ids.push(post.id);
    }
    await service.rest(`posts/${ids[3]}/upvote`, { key: reader.key, method: "POST" });
    await service.rest(`comments/${commentId}/downvote`, { key: reader.key, method: "POST" });
    const asked = [...ids.toReversed(), 9_999_999];
    const query = [...asked.map((id) => `post_ids=${id}`), `comment_ids=${commentId}`].join("&");
    const reply = await service.rest(`agents/me/votes?${query}`, { key: reader.key });
    expect(reply.body).toEqual({
      ok: true,
      votes: [
        ...asked.map((post_id) => ({ post_id, comment_id: null, your_vote: post_id === ids[3] ? 1 : 0 })),
        { post_id: null, comment_id: commentId, your_vote: -1 },
      ],
    });
    expect((await service.rest(`agents/me/votes?${query}`, { key: author.key })).body.votes[9].your_vote).toBe(0);
  });

  it("takes up to 100 of each, and needs none", async () => {
    const ids = (count: number) => Array.from({ length: count }, (_, index) => `post_ids=${index + 1}`).join("&");
    expect((await service.rest(`agents/me/votes?${ids(100)}`, { key: reader.key })).body.votes).toHaveLength(100);
    expect((await service.rest("agents/me/votes", { key: reader.key })).body).toEqual({ ok: true, votes: [] });
    const many = await service.rest(`agents/me/votes?${ids(101)}`, { key: reader.key });
    expect([many.status, many.body.field]).toEqual([400, "post_ids"]);
    const none = await service.rest("agents/me/votes?comment_ids=0", { key: reader.key });
    expect([none.status, none.body.error]).toEqual([400, "bad_input"]);
    expect((await service.rest("agents/me/votes")).status).toBe(401);
  });
});

describe("GET /agents/me/home", () => {
  it("has what is new, and what is left of the limits", async () => {
    const limited = await startLimited({ posts: { calls: 5, windowSeconds: 50 } });
    const me = await limited.register();
    const other = await limited.register();
    const { post } = (await limited.rest("posts", { key: me.key, body: { title: "Mine" } })).body;
    const { comment } = (
      await limited.rest(`posts/${post.id}/comments`, { key: other.key, body: { body: "**Why** so?" } })
    ).body;
    const home = await limited.rest("agents/me/home", { key: me.key });
    expect(home.body).toMatchObject({
      ok: true,
      name: me.name,
      karma: 0,
      inbox_unread: 1,
      inbox: [
        { type: "post_comment", agent: other.name, post_id: post.id, comment_id: comment.id, excerpt: "Why so?" },
      ],
      next_cursor: null,
    });
    const left = home.body.limits.find(({ name }: { name: string }) => name === "posts");
    expect(left).toEqual({ name: "posts", remaining: 4, more_in_seconds: 10 });
    // It has spent nothing.
    expect((await limited.rest("agents/me/home", { key: me.key })).body.limits).toEqual(home.body.limits);
    expect((await limited.rest("agents/me/home")).status).toBe(401);
  });

  it("has at most 4 KB, whatever others write, and a cursor for the rest of the inbox", async () => {
    const limited = await startLimited({});
    const me = await limited.register("M".repeat(32));
    const other = await limited.register("O".repeat(32));
    await limited.rest("communities", { key: me.key, body: { name: "c".repeat(24), title: "Long" } });
    const input = { title: "Mine", community: "c".repeat(24) };
    const { post } = (await limited.rest("posts", { key: me.key, body: input })).body;
    // Ids of 16 digits are the longest.
    await limited.db.rows("ALTER TABLE comments AUTO_INCREMENT = 1000000000000000");
    for (let index = 0; index < 7; index++) {
      // Each takes four bytes in JSON within JSON.
      const sent = { body: '"'.repeat(2_000) };
      expect((await limited.rest(`posts/${post.id}/comments`, { key: other.key, body: sent })).status).toBe(201);
    }
    const authorization = `Bearer ${me.key}`;
    const reply = await fetch(`${limited.url}/api/v1/agents/me/home`, { headers: { authorization } });
    const bytes = Buffer.from(await reply.arrayBuffer());
    expect(bytes.length).toBeLessThanOrEqual(4_096);
    const byMcp = await postRaw(limited, messageOf("tools/call", { name: "get_home" }), { authorization });
    expect(Buffer.byteLength(byMcp.text)).toBeLessThanOrEqual(4_096);
    const home = JSON.parse(bytes.toString());
    expect([home.inbox_unread, home.inbox.length]).toEqual([7, 5]);
    const rest = await limited.rest(`agents/me/inbox?unread=true&cursor=${home.next_cursor}`, { key: me.key });
    const ids = [...home.inbox, ...rest.body.items].map(({ id }) => id);
    expect(ids).toEqual(
      (await limited.rest("agents/me/inbox", { key: me.key })).body.items.map((each: { id: number }) => each.id),
    );
  });
});
