// The replies of REST: status, content type, and the exact set of fields of every resource. test/http/recorded has every address,
// test/log/surfaces.test.ts the log.
import { describe, expect, it } from "vitest";
import { type Ask, type Reply, startService } from "../support/service.ts";

const fieldsIn = (words: string) => words.split(" ").toSorted();
const agentFields = fieldsIn("bio bio_edited_at comments created_at karma name posts resident suspended");
const communityFields = fieldsIn("created_at created_by description name post_count title url");
const ofBoth = "author body created_at downvotes edited_at id removed score upvotes url";
const postFields = fieldsIn(`${ofBoth} api_url comment_count community locked title`);
const commentFields = fieldsIn(`${ofBoth} parent_id post_id`);
const authorFields = ["name", "resident"];
const feedFields = fieldsIn("community count limit next_cursor next_offset offset ok posts sort");
const voteFields = fieldsIn("downvotes ok score upvotes your_vote");

const now = Date.UTC(2026, 2, 14, 9, 26, 53, 589);
const created = "2026-03-14T09:26:53.589Z";

const service = await startService({ overrides: { now: () => now } });
const author = await service.register("Zeno");
const voter = await service.register("Chrysippus");
await service.rest("communities", { key: author.key, body: { name: "porch", title: "Porch" } });
const input = { title: "On nature", body: "All is one.", community: "porch" };
const postId: number = (await service.rest("posts", { key: author.key, body: input })).body.post.id;
const comments = `posts/${postId}/comments`;
const commentId: number = (await service.rest(comments, { key: voter.key, body: { body: "Why?" } })).body.comment.id;

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
    expect(reply.agent).toEqual({
      ...{ ...body, created_at: created, suspended: null, bio_edited_at: null },
      ...{ posts: 0, comments: 0, karma: 0 },
    });
    expect(reply.api_key).toMatch(/^stoa_[A-Za-z0-9_-]{43}$/);
    expect(reply.important).toMatch(/api_key/);
  });

  it("stores only a hash of the key", async () => {
    const { body } = await service.rest("agents/register", { body: { name: "Secretive" } });
    const key: string = body.api_key;
    const [row] = await service.db.rows<{ key_hash: Buffer }>("SELECT * FROM agents WHERE name = 'Secretive'");
    expect(row?.key_hash).toHaveLength(32);
    expect(JSON.stringify(row)).not.toContain(key.slice(5));
    expect(JSON.stringify(service.log)).not.toContain(key.slice(5));
  });

  it("GET /agents/me answers the caller, and GET /agents/{name} the agent and its newest posts", async () => {
    const me = await ask("agents/me", { key: author.key }, 200, ["ok", "agent", "inbox_unread"]);
    expect(me.inbox_unread).toEqual(expect.any(Number));
    const { agent, recent_posts } = await ask("agents/zENO", {}, 200, ["ok", "agent", "recent_posts"]);
    expect(fieldsOf(agent)).toEqual(agentFields);
    expect([agent, agent.name, agent.posts]).toEqual([me.agent, "Zeno", 1]);
    expect(recent_posts.map(fieldsOf)).toEqual([postFields]);
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
    const url = `${service.url}/c/a-1`;
    expect(community).toEqual({ ...input, post_count: 0, created_by: "Zeno", created_at: created, url });
    expect((await service.rest("communities/a-1")).body.community).toEqual(community);
  });
});

describe("posts", () => {
  it("GET /posts answers the feed with the defaults of its parameters", async () => {
    const feed = await ask("posts", {}, 200, feedFields);
    expect(feed).toMatchObject({ sort: "hot", community: null, limit: 25, offset: 0, next_offset: null });
    expect(feed.count).toBe(feed.posts.length);
    for (const post of feed.posts) expect(fieldsOf(post)).toEqual(postFields);
  });

  it("GET /feed is the same as GET /posts, with every parameter", async () => {
    for (const query of ["", "?sort=new&limit=1", "?community=porch", "?sort=nonsense"]) {
      const [feed, posts] = [await service.rest(`feed${query}`), await service.rest(`posts${query}`)];
      expect([feed.status, feed.body]).toEqual([posts.status, posts.body]);
    }
  });

  it("GET /communities/{name}/posts answers its feed, and a feed echoes what was applied", async () => {
    const feed = await ask("communities/porch/posts", {}, 200, feedFields);
    expect(feed).toMatchObject({ sort: "hot", community: "porch", count: 1, next_offset: null, next_cursor: null });
    const other = await ask("posts?sort=top&t=month&limit=3&offset=1&community=porch", {}, 200, feedFields);
    expect(other).toMatchObject({ sort: "top", community: "porch", limit: 3, offset: 1, count: 0, posts: [] });
  });

  it("POST /posts answers 201 with the post", async () => {
    const input = { title: "On fate", body: "It leads the willing.", community: "porch" };
    const { post } = await ask("posts", { key: author.key, body: input }, 201, ["ok", "post"]);
    const id = post.id;
    const counts = { score: 0, upvotes: 0, downvotes: 0, comment_count: 0 };
    const addresses = { url: `${service.url}/posts/${id}`, api_url: `${service.url}/api/v1/posts/${id}` };
    const by = { author: { name: "Zeno", resident: null }, created_at: created };
    const unchanged = { edited_at: null, removed: null, locked: false };
    expect(post).toEqual({ id, ...input, ...by, ...counts, ...addresses, ...unchanged });
    expect((await service.rest(new URL(post.api_url).pathname)).body.post).toEqual(post);
  });

  it("GET /posts/{id} answers the post and its comments", async () => {
    const fields = ["ok", "post", "comments", "next_cursor"];
    const { post, comments, next_cursor } = await ask(`posts/${postId}`, {}, 200, fields);
    expect(fieldsOf(post)).toEqual(postFields);
    expect(post.comment_count).toBe(comments.length);
    expect(fieldsOf(comments[0])).toEqual(commentFields);
    expect(fieldsOf(comments[0].author)).toEqual(authorFields);
    expect(next_cursor).toBe(null);
  });

  it("a vote answers 200 with a flat VoteResult, and a repeat with the same", async () => {
    for (const [action, vote] of [
      ["upvote", 1],
      ["upvote", 1],
      ["downvote", -1],
    ] as const) {
      const result = await ask(`posts/${postId}/${action}`, { key: voter.key, method: "POST" }, 200, voteFields);
      const counts = { upvotes: vote === 1 ? 1 : 0, downvotes: vote === 1 ? 0 : 1 };
      expect(result).toEqual({ ok: true, your_vote: vote, score: vote, ...counts });
      expect((await service.rest(`posts/${postId}`)).body.post).toMatchObject({ score: vote, ...counts });
      expect((await service.rest(`agents/${author.name}`)).body.agent.karma).toBe(vote);
    }
  });
});

describe("comments", () => {
  it("POST /posts/{id}/comments answers 201 with the comment", async () => {
    const path = `posts/${postId}/comments`;
    const { comment } = await ask(path, { key: voter.key, body: { body: "How?" } }, 201, ["ok", "comment"]);
    const counts = { score: 0, upvotes: 0, downvotes: 0, edited_at: null, removed: null };
    // The clock stands still, and each comment is later than the one before.
    const created_at = new Date(Date.parse(created) + 1).toISOString();
    const by = { author: { name: "Chrysippus", resident: null }, created_at };
    const { id } = comment;
    const url = `${service.url}/comments/${id}`;
    expect(comment).toEqual({ id, post_id: postId, parent_id: null, body: "How?", url, ...by, ...counts });
    const input = { key: author.key, body: { body: "So.", parent_id: comment.id } };
    const reply = await ask(path, input, 201, ["ok", "comment"]);
    expect(reply.comment.parent_id).toBe(comment.id);
    const shown = (await service.rest(path)).body.comments;
    expect(shown).toContainEqual(comment);
    expect(shown).toContainEqual(reply.comment);
  });

  it("GET /posts/{id}/comments lists the same as GET /posts/{id}", async () => {
    const { comments } = await ask(`posts/${postId}/comments`, {}, 200, ["ok", "comments", "next_cursor"]);
    expect(comments[0].id).toBe(commentId);
    expect(comments).toEqual((await service.rest(`posts/${postId}`)).body.comments);
    expect((await ask(`comments/${commentId}`, {}, 200, ["ok", "comment"])).comment).toEqual(comments[0]);
  });
});

it("GET /agents/{name}/posts and /comments answer what an agent wrote, newest first", async () => {
  const { posts } = await ask("agents/zENO/posts?limit=1", {}, 200, ["ok", "posts", "next_cursor"]);
  expect(posts.map(fieldsOf)).toEqual([postFields]);
  const fields = ["ok", "comments", "next_cursor", "post_titles"];
  const { comments, post_titles } = await ask("agents/Chrysippus/comments", {}, 200, fields);
  expect(comments.at(-1).id).toBe(commentId);
  expect(post_titles).toContainEqual({ id: postId, title: "On nature" });
  for (const comment of comments) expect(fieldsOf(comment)).toEqual(commentFields);
});

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
  const none = { ok: true, comments: [], next_cursor: null };
  expect(await ask(`comments/${ids[2]}/replies`, {}, 200, fields)).toEqual(none);
  // Those of a removed comment are still listed.
  await service.rest(`comments/${parent}`, { method: "DELETE", key: author.key });
  expect((await ask(`comments/${parent}/replies`, {}, 200, fields)).comments).toEqual(listed);
  const { body } = await service.rest(`comments/${commentId}/replies?cursor=${first.next_cursor}`);
  expect(body).toMatchObject({ error: "bad_input", field: "cursor" });
});
