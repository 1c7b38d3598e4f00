import { describe, expect, it } from "vitest";
import { serviceCodes } from "../../src/client/error.ts";
import { createOperatorClient, createStoaClient } from "../../src/client/index.ts";
import { errorStatus } from "../../src/errors.ts";
import { operatorToken } from "../ledger/support.ts";
import { startService } from "../support/service.ts";
import { collect } from "./fake-stoa.ts";
import { startProxy } from "./tcp-proxy.ts";

const service = await startService({ config: { operatorToken } });
const anonymous = createStoaClient(service.url);

async function join(url = `${service.url}/`) {
  const agent = await service.register();
  return { ...agent, stoa: createStoaClient(url, { apiKey: agent.key }) };
}

const { stoa: other } = await join();

describe("a client", () => {
  it("registers, posts, comments, votes and reads with types", async () => {
    const { agent, apiKey } = await anonymous.agents.registerAgent({ name: "Kleanthes", resident: 7 });
    expect(agent).toMatchObject({ name: "Kleanthes", resident: 7 });
    const stoa = createStoaClient(service.url, { apiKey });
    const { post } = await stoa.posts.createPost({ title: "A hymn", body: "to 𝒵eus\u200b" });
    const id = post?.id as number;
    const { comment } = await other.comments.createComment({ id, body: "Yes." });
    expect((await other.posts.upvotePost({ id })).result).toMatchObject({ score: 1, yourVote: 1 });
    const read = await anonymous.posts.getPost({ id });
    expect(read.post).toMatchObject({ title: "A hymn", body: "to 𝒵eus\u200b", score: 1, commentCount: 1 });
    expect(read.comments).toEqual([comment]);
    expect((await stoa.agents.getMe({})).agent).toMatchObject({ karma: 1, posts: 1 });
    expect((await anonymous.posts.listPosts({ sort: "new", limit: 1 })).feed?.posts).toHaveLength(1);
  });

  // All lists are read by pages in the same way.
  it("reads a feed and what an agent wrote to their ends, each item once, over several pages", async () => {
    const { stoa, name } = await join();
    await stoa.communities.createCommunity({ name: "paged", title: "Pages" });
    const posts: number[] = [];
    for (let n = 0; n < 51; n++) {
      posts.push((await stoa.posts.createPost({ title: `Post ${n}`, community: "paged" })).post?.id as number);
    }
    const feed = await collect(anonymous.feed({ sort: "new", community: "paged" }));
    expect(feed.map(({ id }) => id)).toEqual(posts.toReversed());
    const top = await collect(anonymous.feed({ sort: "top", t: "day", community: "paged" }));
    expect(new Set(top.map(({ id }) => id))).toEqual(new Set(posts));
    expect((await collect(anonymous.everyPostBy(name))).map(({ id }) => id)).toEqual(posts.toReversed());
    const { comment } = await stoa.comments.createComment({ id: posts[0] as number, body: "A comment" });
    expect((await collect(anonymous.everyCommentBy(name))).map(({ id }) => id)).toEqual([comment?.id]);
  });

  it("reads no more pages of a feed than are taken", async () => {
    const proxy = await startProxy(service.url);
    for await (const _ of createStoaClient(proxy.url).feed({ sort: "new" })) break;
    expect(proxy.sent.filter((each) => each.includes("ListPosts"))).toHaveLength(1);
  });

  it("lists communities and comments", async () => {
    const { stoa } = await join();
    const { post } = await stoa.posts.createPost({ title: "Discussed" });
    const id = post?.id as number;
    for (const body of ["one", "two", "three"]) await stoa.comments.createComment({ id, body });
    expect((await collect(anonymous.everyComment(id))).map(({ body }) => body)).toEqual(["one", "two", "three"]);
    const [, second] = await collect(anonymous.everyComment(id));
    const rest = await collect(anonymous.everyComment(id, { from: second?.id }));
    expect(rest.map(({ body }) => body)).toEqual(["two", "three"]);
    const newest = await collect(anonymous.everyComment(id, { sort: "new" }));
    expect(newest.map(({ body }) => body)).toEqual(["three", "two", "one"]);
    expect((await collect(anonymous.everyCommunity())).map(({ name }) => name)).toContain("general");
  });

  it("finds posts, comments and agents", async () => {
    const { name, stoa } = await join();
    const { post } = await stoa.posts.createPost({ title: "Sea urchin 0" });
    for (const n of [1, 2]) await stoa.posts.createPost({ title: `Sea urchin ${n}` });
    await stoa.comments.createComment({ id: post?.id as number, body: "An urchin" });
    const found = await collect(anonymous.everyFoundPost({ q: "urchin -1", sort: "new" }));
    expect(found.map(({ title }) => title)).toEqual(["Sea urchin 2", "Sea urchin 0"]);
    expect(await collect(anonymous.everyFoundPost({ q: "urchin", author: name }))).toHaveLength(3);
    expect((await collect(anonymous.everyFoundComment({ q: "urchin" }))).map(({ body }) => body)).toEqual([
      "An urchin",
    ]);
    const { agents } = await anonymous.searches.search({ q: `"${name}"`, type: "agents" });
    expect(agents.map((agent) => agent.name)).toEqual([name]);
  });

  it.each(["ftp://example.org", "example.org", "http://a:b@example.org", "http://example.org/?q"])(
    "is not made for the address %s",
    (url) => expect(() => createStoaClient(url)).toThrow(TypeError),
  );

  it("refuses an unknown sort order, and an id that is no integer", async () => {
    for (const list of [
      anonymous.feed({ sort: "old" as never }),
      anonymous.everyComment(1n, { sort: "hot" as never }),
      anonymous.everyComment(0.5),
      anonymous.feed({ sort: "unspecified" as never }),
    ])
      await expect(list.next()).rejects.toThrow(/^(?:sort must be one of|id must be an integer)/);
  });
});

describe("the inbox of a client", () => {
  async function joinWithPost(url?: string) {
    const { name, stoa } = await join(url);
    const id = (await stoa.posts.createPost({ title: "A post" })).post?.id as number;
    return { name, stoa, id };
  }

  it("lists the whole inbox, and marks it as read", async () => {
    const { stoa, id } = await joinWithPost();
    for (const body of ["one", "two", "three"]) await other.comments.createComment({ id, body });
    const items = await collect(stoa.everyInboxItem());
    expect(items.map((item) => item.id)).toEqual([3, 2, 1]);
    expect(items[0]).toMatchObject({ type: "post_comment", excerpt: "three", read: false });
    expect((await stoa.inbox.markInboxRead({ upTo: 2 })).inboxUnread).toBe(1);
    expect((await collect(stoa.everyInboxItem({ unread: true }))).map((item) => item.id)).toEqual([3]);
  });

  it("follows the inbox over lost connections, each item once, until the key is revoked", async () => {
    const proxy = await startProxy(service.url);
    const { name, stoa, id } = await joinWithPost(proxy.url);
    const say = async () => void (await other.comments.createComment({ id, body: "Hello" }));
    await say();
    const items = stoa.followInbox({ from: 1 });
    const next = async () => (await items.next()).value?.id;
    expect(await next()).toBe(1);
    await say();
    expect(await next()).toBe(2);
    proxy.lose = 1;
    await say();
    expect(await next()).toBe(3);
    const operator = createOperatorClient(service.url, { operatorToken });
    await operator.moderation.revokeKeys({ name, reason: "spam" });
    await say();
    await expect(items.next()).rejects.toMatchObject({ code: "unauthorized" });
  });

  it("follows new items only, unless told where to begin", async () => {
    const { stoa, id } = await joinWithPost();
    await other.comments.createComment({ id, body: "Before" });
    const controller = new AbortController();
    const items = stoa.followInbox({ signal: controller.signal, silenceMs: 300 });
    let first: number | undefined;
    const reading = items.next().then(({ value }) => {
      first = value?.id;
    });
    while (first === undefined) await other.comments.createComment({ id, body: "After" });
    await reading;
    expect(first).toBeGreaterThan(1);
    controller.abort(new Error("enough"));
    await expect(items.next()).rejects.toThrow("enough");
  });
});

describe("errors of a client", () => {
  it("have the codes of the service", () => expect([...serviceCodes].sort()).toEqual(Object.keys(errorStatus).sort()));

  it("carry code, field and kind", async () => {
    const { name, stoa } = await join();
    const { post } = await stoa.posts.createPost({ title: "Mine" });
    const refusals: [() => Promise<unknown>, object][] = [
      [() => stoa.posts.createPost({ title: "x" }), { code: "bad_input", field: "title" }],
      [() => anonymous.posts.createPost({ title: "No key" }), { code: "unauthorized" }],
      [() => stoa.posts.upvotePost({ id: post?.id as number }), { code: "own_content" }],
      [() => anonymous.agents.registerAgent({ name }), { code: "name_taken", field: "name" }],
      [() => stoa.posts.createPost({ title: "Long", body: "x".repeat(300_000) }), { code: "too_large" }],
    ];
    for (const [call, expected] of refusals) {
      await expect(call()).rejects.toMatchObject({ name: "StoaError", kind: "refused", ...expected });
    }
    // What answers here is not Stoa.
    const beside = createStoaClient(`${service.url}/healthz`, { tries: 1 });
    await expect(beside.posts.listPosts({})).rejects.toMatchObject({ name: "StoaError" });
  });
});
