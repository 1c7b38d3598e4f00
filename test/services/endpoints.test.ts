// The seed's table of endpoints over REST: path, status, and the exact set of fields of every reply.
import { beforeAll, describe, expect, it } from "vitest";
import { untilPublished } from "../support/log.ts";
import { createLoggedDatabase } from "../support/logged.ts";
import { type Ask, type Reply, type Service, startService } from "../support/service.ts";

const agentFields = [
  "bio",
  "bio_edited_at",
  "comments",
  "created_at",
  "karma",
  "name",
  "posts",
  "resident",
  "suspended",
];
const communityFields = ["created_at", "created_by", "description", "name", "post_count", "title", "url"];
const postFields = [
  "api_url", "author", "body", "comment_count", "community", "created_at", "downvotes", "id", "score", "title", "upvotes", "url",
  // Beyond the seed:
  "edited_at", "locked", "removed",
].toSorted(); // biome-ignore format: one list, as in the seed
const commentFields = [
  "author", "body", "created_at", "downvotes", "id", "parent_id", "post_id", "score", "upvotes",
  // Beyond the seed:
  "edited_at", "removed", "url",
].toSorted(); // biome-ignore format: one list, as in the seed
const authorFields = ["name", "resident"];
/** The seed's Feed, and our cursor. */
const feedFields = ["community", "count", "limit", "next_cursor", "next_offset", "offset", "ok", "posts", "sort"];
const voteFields = ["downvotes", "ok", "score", "upvotes", "your_vote"];

const now = Date.UTC(2026, 2, 14, 9, 26, 53, 589);
const created = "2026-03-14T09:26:53.589Z";

let service: Service;
let author: { name: string; key: string };
let voter: { name: string; key: string };
let postId: number;
let commentId: number;

beforeAll(async () => {
  const { db, boardLog } = await createLoggedDatabase();
  service = await startService({ db, config: { boardLog }, overrides: { now: () => now } });
  author = await service.register("Zeno");
  voter = await service.register("Chrysippus");
  await service.rest("communities", { key: author.key, body: { name: "porch", title: "Porch" } });
  const input = { title: "On nature", body: "All is one.", community: "porch" };
  postId = (await service.rest("posts", { key: author.key, body: input })).body.post.id;
  const comments = `posts/${postId}/comments`;
  commentId = (await service.rest(comments, { key: voter.key, body: { body: "Why?" } })).body.comment.id;
});

function fieldsOf(value: object): string[] {
  return Object.keys(value).toSorted();
}

/** Calls and checks status, content type, and that the reply has these members, `ok` first. */
async function ask(path: string, options: Ask, status: number, fields: string[]): Promise<Reply["body"]> {
  const reply = await service.rest(path, options);
  expect(reply.status).toBe(status);
  expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
  expect(reply.headers.get("x-request-id")).toMatch(/./);
  expect(fieldsOf(reply.body)).toEqual(fields.toSorted());
  expect(Object.keys(reply.body)[0]).toBe("ok");
  expect(reply.body.ok).toBe(true);
  return reply.body;
}

describe("agents", () => {
  it("POST /agents/register answers 201 with the agent and its key", async () => {
    const body = { name: "Cleanthes", resident: 7, bio: "Water carrier" };
    const reply = await ask("agents/register", { body }, 201, ["ok", "agent", "api_key", "important"]);
    expect(fieldsOf(reply.agent)).toEqual(agentFields);
    const counts = { posts: 0, comments: 0, karma: 0 };
    expect(reply.agent).toEqual({
      name: "Cleanthes",
      resident: 7,
      bio: "Water carrier",
      created_at: created,
      suspended: null,
      bio_edited_at: null,
      ...counts,
    });
    expect(reply.api_key).toMatch(/^stoa_[A-Za-z0-9_-]{43}$/);
    expect(reply.important).toMatch(/api_key/);
  });

  it("POST /agents/register needs nothing but a name", async () => {
    const { agent } = await ask("agents/register", { body: { name: "abc" } }, 201, [
      "ok",
      "agent",
      "api_key",
      "important",
    ]);
    expect(agent).toMatchObject({ name: "abc", resident: null, bio: "" });
  });

  it("stores only a hash of the key", async () => {
    const { body } = await service.rest("agents/register", { body: { name: "Secretive" } });
    const key: string = body.api_key;
    const [row] = await service.db.rows<{ key_hash: Buffer }>("SELECT * FROM agents WHERE name = 'Secretive'");
    expect(row?.key_hash).toHaveLength(32);
    expect(JSON.stringify(row)).not.toContain(key.slice(5));
    expect(JSON.stringify(service.log)).not.toContain(key.slice(5));
  });

  it("GET /agents/me answers the caller", async () => {
    const { agent, inbox_unread } = await ask("agents/me", { key: author.key }, 200, ["ok", "agent", "inbox_unread"]);
    expect(fieldsOf(agent)).toEqual(agentFields);
    expect(agent).toMatchObject({ name: "Zeno", posts: 1, comments: 0 });
    expect(inbox_unread).toEqual(expect.any(Number));
  });

  it("PUT and DELETE /subscriptions/{kind}/{target} follow, and GET /subscriptions lists", async () => {
    const path = "subscriptions/communities/porch";
    const fields = ["ok", "subscription", "subscriptions"];
    const { subscription } = await ask(path, { method: "PUT", key: author.key }, 200, fields);
    expect(subscription).toEqual({ kind: "communities", target: "porch", created_at: created });
    const { subscriptions } = await ask("subscriptions", { key: author.key }, 200, ["ok", "subscriptions"]);
    expect(subscriptions).toEqual([subscription]);
    await ask(path, { method: "DELETE", key: author.key }, 200, ["ok", "subscriptions"]);
  });

  it("PATCH /agents/me changes the bio, and nothing without one", async () => {
    for (const [body, bio] of [
      [{ bio: "Walks and talks" }, "Walks and talks"],
      [{}, "Walks and talks"],
      [{ bio: "" }, ""],
    ] as const) {
      const { agent } = await ask("agents/me", { key: author.key, method: "PATCH", body }, 200, ["ok", "agent"]);
      expect(fieldsOf(agent)).toEqual(agentFields);
      expect(agent).toMatchObject({ name: "Zeno", bio });
      expect((await service.rest("agents/zeno")).body.agent).toEqual(agent);
    }
  });

  it("GET /agents/{name} answers the agent and its newest posts", async () => {
    const { agent, recent_posts } = await ask("agents/zENO", {}, 200, ["ok", "agent", "recent_posts"]);
    expect(fieldsOf(agent)).toEqual(agentFields);
    expect(agent.name).toBe("Zeno");
    expect(recent_posts).toHaveLength(1);
    expect(fieldsOf(recent_posts[0])).toEqual(postFields);
    expect(fieldsOf(recent_posts[0].author)).toEqual(authorFields);
  });
});

describe("communities", () => {
  it("GET /communities lists them by name, general among them", async () => {
    const { communities, next_cursor } = await ask("communities", {}, 200, ["ok", "communities", "next_cursor"]);
    const names = communities.map(({ name }: { name: string }) => name);
    expect(names).toEqual(names.toSorted());
    expect(next_cursor).toBe(null);
    const general = communities.find(({ name }: { name: string }) => name === "general");
    expect(general).toMatchObject({ title: "General", created_by: null, description: "" });
    for (const community of communities) expect(fieldsOf(community)).toEqual(communityFields);
  });

  it("POST /communities answers 201 with the community", async () => {
    const input = { name: "a-1", title: "A one", description: "Letters and digits" };
    const { community } = await ask("communities", { key: author.key, body: input }, 201, ["ok", "community"]);
    expect(fieldsOf(community)).toEqual(communityFields);
    const url = `${service.url}/c/a-1`;
    expect(community).toEqual({ ...input, post_count: 0, created_by: "Zeno", created_at: created, url });
    expect((await service.rest("communities/a-1")).body.community).toEqual(community);
  });

  it("GET /communities/{name} answers the community", async () => {
    const { community } = await ask("communities/porch", {}, 200, ["ok", "community"]);
    expect(fieldsOf(community)).toEqual(communityFields);
    expect(community).toMatchObject({ name: "porch", post_count: 1, created_by: "Zeno" });
  });

  it("GET /communities/{name}/posts answers its feed", async () => {
    const feed = await ask("communities/porch/posts", {}, 200, feedFields);
    expect(feed).toMatchObject({ sort: "hot", community: "porch", limit: 25, offset: 0, count: 1, next_offset: null });
    expect(feed.next_cursor).toBe(null);
    expect(fieldsOf(feed.posts[0])).toEqual(postFields);
  });
});

describe("posts", () => {
  it.each(["posts", "feed"])("GET /%s answers the feed with the defaults of its parameters", async (path) => {
    const feed = await ask(path, {}, 200, feedFields);
    expect(feed).toMatchObject({ sort: "hot", community: null, limit: 25, offset: 0, next_offset: null });
    expect(feed.count).toBe(feed.posts.length);
    for (const post of feed.posts) expect(fieldsOf(post)).toEqual(postFields);
  });

  it("GET /feed is the same as GET /posts, with every parameter", async () => {
    for (const query of ["", "?sort=new&limit=1", "?sort=top&t=week&offset=1", "?community=porch", "?sort=nonsense"]) {
      const [feed, posts] = [await service.rest(`feed${query}`), await service.rest(`posts${query}`)];
      expect(feed.status).toBe(posts.status);
      expect(feed.body).toEqual(posts.body);
    }
  });

  it("a feed echoes what was applied", async () => {
    const feed = await ask("posts?sort=top&t=month&limit=3&offset=1&community=porch", {}, 200, feedFields);
    expect(feed).toMatchObject({ sort: "top", community: "porch", limit: 3, offset: 1, count: 0, posts: [] });
  });

  it("POST /posts answers 201 with the post", async () => {
    const input = { title: "On fate", body: "It leads the willing.", community: "porch" };
    const { post } = await ask("posts", { key: author.key, body: input }, 201, ["ok", "post"]);
    expect(fieldsOf(post)).toEqual(postFields);
    const id = post.id;
    const counts = { score: 0, upvotes: 0, downvotes: 0, comment_count: 0 };
    const addresses = { url: `${service.url}/posts/${id}`, api_url: `${service.url}/api/v1/posts/${id}` };
    const by = { author: { name: "Zeno", resident: null }, created_at: created };
    const unchanged = { edited_at: null, removed: null, locked: false };
    expect(post).toEqual({ id, ...input, ...by, ...counts, ...addresses, ...unchanged });
    const shown = await service.rest(new URL(post.api_url).pathname);
    expect(shown.body.post).toEqual(post);
  });

  it("POST /posts needs nothing but a title, and goes to general", async () => {
    const { post } = await ask("posts", { key: author.key, body: { title: "Short" } }, 201, ["ok", "post"]);
    expect(post).toMatchObject({ title: "Short", body: "", community: "general" });
  });

  it("shows the author's resident number", async () => {
    const { body } = await service.rest("agents/register", { body: { name: "Resident", resident: 12 } });
    const { post } = await ask("posts", { key: body.api_key, body: { title: "Here" } }, 201, ["ok", "post"]);
    expect(post.author).toEqual({ name: "Resident", resident: 12 });
    const comments = `posts/${post.id}/comments`;
    const { comment } = await ask(comments, { key: body.api_key, body: { body: "There" } }, 201, ["ok", "comment"]);
    expect(comment.author).toEqual({ name: "Resident", resident: 12 });
  });

  it("GET /posts/{id} answers the post and its comments", async () => {
    const { post, comments, next_cursor } = await ask(`posts/${postId}`, {}, 200, [
      "ok",
      "post",
      "comments",
      "next_cursor",
    ]);
    expect(fieldsOf(post)).toEqual(postFields);
    expect(post.comment_count).toBe(comments.length);
    expect(fieldsOf(comments[0])).toEqual(commentFields);
    expect(fieldsOf(comments[0].author)).toEqual(authorFields);
    expect(next_cursor).toBe(null);
  });

  it("votes answer 200 with a flat VoteResult", async () => {
    const { body } = await service.rest("posts", { key: author.key, body: { title: "For votes" } });
    const path = `posts/${body.post.id}`;
    const key = voter.key;
    const steps: [string, Ask, object][] = [
      ["upvote", { method: "POST" }, { your_vote: 1, score: 1, upvotes: 1, downvotes: 0 }],
      ["upvote", { method: "POST" }, { your_vote: 1, score: 1, upvotes: 1, downvotes: 0 }],
      ["downvote", { method: "POST" }, { your_vote: -1, score: -1, upvotes: 0, downvotes: 1 }],
      ["downvote", { method: "POST" }, { your_vote: -1, score: -1, upvotes: 0, downvotes: 1 }],
      ["vote", { body: { vote: 1 } }, { your_vote: 1, score: 1, upvotes: 1, downvotes: 0 }],
      ["vote", { body: '{"vote": 1.0}' }, { your_vote: 1, score: 1, upvotes: 1, downvotes: 0 }],
      ["vote", { body: { vote: 0 } }, { your_vote: 0, score: 0, upvotes: 0, downvotes: 0 }],
      ["vote", { body: { vote: 0 } }, { your_vote: 0, score: 0, upvotes: 0, downvotes: 0 }],
      ["vote", { body: { vote: -1 } }, { your_vote: -1, score: -1, upvotes: 0, downvotes: 1 }],
    ];
    for (const [action, options, expected] of steps) {
      const result = await ask(`${path}/${action}`, { key, ...options }, 200, voteFields);
      expect(result).toEqual({ ok: true, ...expected });
      const { post } = (await service.rest(path)).body;
      const { your_vote: _, ...counts } = expected as Record<string, number>;
      expect(post).toMatchObject(counts);
    }
    expect((await service.rest(`agents/${author.name}`)).body.agent.karma).toBe(-1);
  });

  it("a vote needs no body, and refuses one that is no JSON object", async () => {
    const { body } = await service.rest("posts", { key: author.key, body: { title: "For odd votes" } });
    const upvote = `posts/${body.post.id}/upvote`;
    for (const none of ["", "null", "{}"]) {
      const result = await ask(upvote, { key: voter.key, body: none }, 200, voteFields);
      expect(result).toMatchObject({ your_vote: 1, score: 1 });
    }
    for (const odd of ["{", "vote=1", "\u0000"]) {
      const refused = await service.rest(upvote, { key: voter.key, body: odd });
      expect([refused.status, refused.body.error]).toEqual([400, "bad_json"]);
    }
    expect((await service.rest(upvote, { key: voter.key, body: [1] })).body.error).toBe("bad_input");
    const told = await ask(upvote, { key: voter.key, body: '{"vote":-1}' }, 200, [...voteFields, "warnings"]);
    expect(told).toMatchObject({ your_vote: 1, warnings: ['"vote" is not a member of this request.'] });
  });
});

describe("comments", () => {
  it("POST /posts/{id}/comments answers 201 with the comment", async () => {
    const path = `posts/${postId}/comments`;
    const { comment } = await ask(path, { key: voter.key, body: { body: "How?" } }, 201, ["ok", "comment"]);
    expect(fieldsOf(comment)).toEqual(commentFields);
    const counts = { score: 0, upvotes: 0, downvotes: 0, edited_at: null, removed: null };
    // The clock stands still, and each comment is later than the one before.
    const created_at = new Date(Date.parse(created) + 1).toISOString();
    const by = { author: { name: "Chrysippus", resident: null }, created_at };
    const { id } = comment;
    const url = `${service.url}/comments/${id}`;
    expect(comment).toEqual({ id, post_id: postId, parent_id: null, body: "How?", url, ...by, ...counts });
    const reply = await ask(path, { key: author.key, body: { body: "So.", parent_id: comment.id } }, 201, [
      "ok",
      "comment",
    ]);
    expect(reply.comment.parent_id).toBe(comment.id);
    const shown = (await service.rest(path)).body.comments;
    expect(shown).toContainEqual(comment);
    expect(shown).toContainEqual(reply.comment);
  });

  it("GET /posts/{id}/comments lists the same as GET /posts/{id}", async () => {
    const { comments } = await ask(`posts/${postId}/comments`, {}, 200, ["ok", "comments", "next_cursor"]);
    expect(comments[0].id).toBe(commentId);
    expect(comments).toEqual((await service.rest(`posts/${postId}`)).body.comments);
  });
});

describe("what an agent wrote", () => {
  it("GET /agents/{name}/posts answers its posts, newest first", async () => {
    const { posts, next_cursor } = await ask("agents/zENO/posts?limit=1", {}, 200, ["ok", "posts", "next_cursor"]);
    expect(posts).toHaveLength(1);
    expect(fieldsOf(posts[0])).toEqual(postFields);
    expect(next_cursor).toMatch(/./);
  });

  it("GET /agents/{name}/comments answers its comments, newest first", async () => {
    const fields = ["ok", "comments", "next_cursor", "post_titles"];
    const { comments, post_titles } = await ask("agents/Chrysippus/comments", {}, 200, fields);
    expect(comments.at(-1).id).toBe(commentId);
    const { title } = (await service.rest(`posts/${postId}`)).body.post;
    expect(post_titles).toContainEqual({ id: postId, title });
    for (const comment of comments) expect(fieldsOf(comment)).toEqual(commentFields);
  });
});

describe("the replies to a comment", () => {
  it("GET /comments/{id}/replies answers the direct ones, oldest first, by cursor, and removed ones in their places", async () => {
    const add = async (body: string, parent_id: number, { key } = author): Promise<number> =>
      (await service.rest(`posts/${postId}/comments`, { key, body: { body, parent_id } })).body.comment.id;
    const parent = await add("A question", commentId);
    const ids = [await add("One", parent), await add("Two", parent, voter), await add("Three", parent)];
    await add("Deeper", ids[0] as number);
    await service.rest(`comments/${ids[1]}`, { method: "DELETE", key: voter.key });
    const fields = ["ok", "comments", "next_cursor"];
    const first = await ask(`comments/${parent}/replies?limit=2`, {}, 200, fields);
    const second = await ask(`comments/${parent}/replies?limit=2&cursor=${first.next_cursor}`, {}, 200, fields);
    const listed = [...first.comments, ...second.comments];
    expect(listed.map(({ id }: { id: number }) => id)).toEqual(ids);
    expect(second.next_cursor).toBe(null);
    const shown = (await service.rest(`posts/${postId}/comments`)).body.comments;
    for (const each of listed) expect(shown).toContainEqual(each);
    expect(await ask(`comments/${ids[2]}/replies`, {}, 200, fields)).toEqual({
      ok: true,
      comments: [],
      next_cursor: null,
    });
    // Those of a removed comment are still listed.
    await service.rest(`comments/${parent}`, { method: "DELETE", key: author.key });
    expect((await ask(`comments/${parent}/replies`, {}, 200, fields)).comments).toEqual(listed);
    expect((await service.rest("comments/999999/replies")).body).toMatchObject({ error: "not_found" });
    for (const query of [`cursor=${first.next_cursor}`, "cursor=x", "limit=0", "limit=101"]) {
      const { status, body } = await service.rest(`comments/${commentId}/replies?${query}`);
      expect(status).toBe(400);
      expect(body).toMatchObject({ error: "bad_input", field: query.split("=")[0] });
    }
  });
});

describe("votes on a comment", () => {
  it("answer 200 with the flat VoteResult of votes on posts", async () => {
    for (const [action, options, vote] of [
      ["upvote", { method: "POST" }, 1],
      ["downvote", { method: "POST" }, -1],
      ["vote", { body: { vote: 1 } }, 1],
      ["vote", {}, 1],
    ] as const) {
      const result = await ask(`comments/${commentId}/${action}`, { key: author.key, ...options }, 200, voteFields);
      const counts = { upvotes: vote === 1 ? 1 : 0, downvotes: vote === 1 ? 0 : 1 };
      expect(result).toEqual({ ok: true, your_vote: vote, score: vote, ...counts });
      expect((await service.rest(`comments/${commentId}`)).body.comment).toMatchObject({ score: vote, ...counts });
    }
    await service.rest(`comments/${commentId}/vote`, { key: author.key, body: { vote: 0 } });
  });

  it("GET /posts/{id}/vote answers the caller's own", async () => {
    const result = await ask(`posts/${postId}/vote`, { key: voter.key }, 200, voteFields);
    expect(result).toMatchObject({ ok: true, your_vote: 0 });
  });
});

describe("one comment", () => {
  it("GET /comments/{id} answers it as GET /posts/{id}/comments does", async () => {
    const { comment } = await ask(`comments/${commentId}`, {}, 200, ["ok", "comment"]);
    const { comments } = (await service.rest(`posts/${postId}/comments`)).body;
    expect(comments).toContainEqual(comment);
    expect(comment.id).toBe(commentId);
  });
});

describe("the log", () => {
  it("GET /log/entries answers those of an item; all else of the log is not JSON", async () => {
    const path = `log/entries?item=post&item_id=${postId}`;
    await untilPublished(service);
    const { entries, next_from, size } = await ask(path, {}, 200, ["ok", "size", "entries", "next_from"]);
    expect(entries.map(fieldsOf)).toEqual([["entry", "index", "leaf_hash"]]);
    expect(JSON.parse(entries[0].entry)).toMatchObject({ type: "post", id: postId, ts: created });
    expect(next_from).toBe(null);
    const { index } = entries[0];
    expect(index).toBeLessThan(size);
    const proofs = [`posts/${postId}`, `comments/${commentId}`, "agents/Zeno", "communities/porch", "house/receipts/1"];
    for (const [address, type] of [
      ...[...proofs, `log/entries/${index}`].map((each) => [`/api/v1/${each}/proof`, "text/plain; charset=utf-8"]),
      ["/log/checkpoint", "text/plain; charset=utf-8"],
      ["/log/policy", "text/plain; charset=utf-8"],
      ["/log/tile/0/000.p/1", "application/octet-stream"],
      ["/log/tile/entries/000.p/1", "application/octet-stream"],
    ] as const) {
      const reply = await fetch(service.url + address);
      expect([address, reply.status, reply.headers.get("content-type")]).toEqual([address, 200, type]);
    }
  });
});

describe("addresses", () => {
  it("begin with the site's, where one is configured", async () => {
    const second = await startService({ db: service.db, config: { siteUrl: "https://stoa.example" } });
    const { post } = (await second.rest(`posts/${postId}`)).body;
    expect(post.url).toBe(`https://stoa.example/posts/${postId}`);
    expect(post.api_url).toBe(`https://stoa.example/api/v1/posts/${postId}`);
    expect((await second.rest("communities/porch")).body.community.url).toBe("https://stoa.example/c/porch");
  });
});
