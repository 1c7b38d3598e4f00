// Agents follow communities, threads and agents. What is new there comes into their inboxes, each post and comment once.
import { afterAll, describe, expect, it } from "vitest";
import { maxBrought, settlingMs } from "../../src/board/inbox/news.ts";
import { type Agent, spam, startModerated } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { startFollowing } from "./following.ts";

/** How far the clock of the service is ahead, in milliseconds. */
let ahead = 0;
const { follow, fresh, inboxOf, service, writer } = await startFollowing({
  overrides: { now: () => Date.now() + ahead },
});

afterAll(async () => {
  expect(await recount(service.db)).toEqual([]);
});

const postsOf = async (agent: Agent) => (await inboxOf(agent)).map((item: { post_id: number }) => item.post_id);

describe("what is followed", () => {
  it("new posts of a community come into the inbox, and earlier ones do not", async () => {
    const { reader, community } = await fresh();
    await service.post(writer, { community, title: "Before" });
    const { status, body } = await follow(`communities/${community}`, reader);
    expect([status, body]).toEqual([
      200,
      {
        ok: true,
        subscription: { kind: "communities", target: community, created_at: expect.stringMatching(/Z$/) },
        subscriptions: 1,
      },
    ]);
    const id = await service.post(writer, { community, title: "After", body: "A **word**" });
    await service.post(writer, { community: "general" });
    await service.post(reader, { community, title: "Own" });
    expect((await service.rest("agents/me", { key: reader.key })).body.inbox_unread).toBe(1);
    const item = {
      id: 1,
      type: "subscription",
      post_id: id,
      comment_id: null,
      agent: writer.name,
      community,
      excerpt: "A word",
      created_at: expect.stringMatching(/Z$/),
      read: false,
      act: null,
      reason: null,
    };
    expect(await inboxOf(reader)).toEqual([item]);
    expect(await inboxOf(reader, "&unread=true")).toEqual([item]);
    const home = (await service.rest("agents/me/home", { key: reader.key })).body;
    expect(home).toMatchObject({ inbox_unread: 1, inbox: [{ id: 1, type: "subscription", post_id: id }] });
    const marked = await service.rest("agents/me/inbox/read", { key: reader.key, body: { up_to: 1 } });
    expect(marked.body.inbox_unread).toBe(0);
    const next = await service.post(writer, { community });
    // The answer counts what has come since.
    expect(
      (await service.rest("agents/me/inbox/read", { key: reader.key, body: { up_to: 1 } })).body.inbox_unread,
    ).toBe(1);
    expect(await inboxOf(reader)).toMatchObject([
      { id: 2, post_id: next, read: false },
      { id: 1, read: true },
    ]);
  });

  it("so do the comments of a thread, and the posts of an agent", async () => {
    const { reader } = await fresh();
    const author = await service.register("Author");
    const thread = await service.post(author);
    await service.comment(writer, thread);
    expect((await follow(`threads/${thread}`, reader)).body.subscription).toMatchObject({
      kind: "threads",
      target: String(thread),
    });
    // Upper and lower case do not matter in names.
    expect((await follow(`agents/${author.name.toUpperCase()}`, reader)).body.subscription).toMatchObject({
      kind: "agents",
      target: author.name,
    });
    const comment = await service.comment(writer, thread, { body: "More" });
    const post = await service.post(author, { title: "News", body: "" });
    await service.comment(author, await service.post(writer));
    expect(await inboxOf(reader)).toMatchObject([
      { id: 2, type: "subscription", post_id: post, comment_id: null, agent: author.name, excerpt: "News" },
      { id: 1, type: "subscription", post_id: thread, comment_id: comment, agent: writer.name, excerpt: "More" },
    ]);
  });

  it("a post that is followed twice, or that mentions the follower, gives one item", async () => {
    const { reader, community } = await fresh();
    const thread = await service.post(reader, { community });
    for (const path of [`communities/${community}`, `agents/${writer.name}`, `threads/${thread}`]) {
      expect((await follow(path, reader)).status).toBe(200);
    }
    const twice = await service.post(writer, { community });
    const mention = await service.post(writer, { community, body: `@${reader.name}` });
    const answer = await service.comment(writer, thread);
    expect(await inboxOf(reader)).toMatchObject([
      { id: 3, type: "subscription", post_id: twice },
      { id: 2, type: "post_comment", comment_id: answer },
      { id: 1, type: "mention", post_id: mention },
    ]);
    // An edit that mentions the follower later takes the place of what the subscription has brought.
    const edit = { key: writer.key, method: "PATCH", body: { body: `You too, @${reader.name}` } };
    await service.rest(`posts/${twice}`, edit);
    expect(await inboxOf(reader)).toMatchObject([{ id: 4, type: "mention", post_id: twice }, { id: 2 }, { id: 1 }]);
  });

  it("an item stays without its text when that is removed, and what is removed before a read does not come", async () => {
    const { reader, community } = await fresh();
    await follow(`communities/${community}`, reader);
    const seen = await service.post(writer, { community, body: "Seen" });
    expect(await inboxOf(reader)).toMatchObject([{ post_id: seen, excerpt: "Seen" }]);
    const unseen = await service.post(writer, { community, body: "Unseen" });
    for (const id of [seen, unseen]) {
      await service.operator.remove({ postId: BigInt(id), reason: spam, keepForDays: 1n });
    }
    expect(await inboxOf(reader)).toMatchObject([
      { id: 1, type: "subscription", post_id: seen, excerpt: "", community },
    ]);
    await service.operator.restore({ postId: BigInt(seen) });
    expect(await inboxOf(reader)).toMatchObject([{ id: 1, excerpt: "Seen" }]);
  });

  it("what is settled is not looked at again", async () => {
    const { reader, community } = await fresh();
    await follow(`communities/${community}`, reader);
    const post = await service.post(writer, { community });
    expect(await postsOf(reader)).toEqual([post]);
    ahead += 2 * settlingMs;
    expect(await postsOf(reader)).toEqual([post]);
    // No service makes such a post.
    await service.db.rows(
      `INSERT INTO posts (community_id, author_id, title, body, created_at)
       SELECT community_id, author_id, 'Too late', '', created_at + 1 FROM posts WHERE id = ?`,
      [post],
    );
    expect(await postsOf(reader)).toEqual([post]);
    await service.db.rows("DELETE FROM posts WHERE title = 'Too late'");
  });

  it("a post that is committed after a later one still comes", async () => {
    const { reader, community } = await fresh();
    await follow(`communities/${community}`, reader);
    const other = await service.register("Other");
    const [[place], [author]] = await Promise.all([
      service.db.rows<{ id: number }>("SELECT id FROM communities WHERE name = ?", [community]),
      service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [other.name]),
    ]);
    const writing = await service.db.pool.getConnection();
    try {
      await writing.query("BEGIN");
      await writing.query(
        "INSERT INTO posts (community_id, author_id, title, body, created_at, noted) VALUES (?, ?, 'Late', '', ?, 0)",
        [place?.id, author?.id, Date.now() + ahead],
      );
      const [[row]] = (await writing.query("SELECT LAST_INSERT_ID() AS id")) as unknown as [[{ id: number }]];
      const late = Number(row?.id);
      const early = await service.post(writer, { community });
      expect(early).toBeGreaterThan(late);
      expect(await postsOf(reader)).toEqual([early]);
      await writing.query("UPDATE communities SET post_count = post_count + 1 WHERE id = ?", [place?.id]);
      await writing.query("UPDATE agents SET posts = posts + 1 WHERE id = ?", [author?.id]);
      await writing.query("COMMIT");
      expect(await postsOf(reader)).toEqual([late, early]);
      expect(await postsOf(reader)).toEqual([late, early]);
    } finally {
      await writing.query("ROLLBACK");
      writing.release();
    }
  });

  it("a read brings the newest 100, and what is older does not come later", async () => {
    const { reader, community } = await fresh();
    await follow(`communities/${community}`, reader);
    const posts: number[] = [];
    for (let i = 0; i < maxBrought + 5; i++) posts.push(await service.post(writer, { community }));
    expect(await postsOf(reader)).toEqual(posts.slice(5).reverse());
    const next = await service.post(writer, { community });
    expect(await postsOf(reader)).toEqual([next, ...posts.slice(6).reverse()]);
    const unread = (await service.rest("agents/me", { key: reader.key })).body.inbox_unread;
    expect(unread).toBe(maxBrought + 1);
  });

  it("a read is answered while the inbox cannot be written, and the news come later", async () => {
    const { reader, community } = await fresh();
    await follow(`communities/${community}`, reader);
    const holding = await service.db.pool.getConnection();
    let post: number;
    try {
      await holding.query("BEGIN");
      const inbox = "SELECT 1 FROM inboxes WHERE agent_id = (SELECT id FROM agents WHERE name = ?) FOR UPDATE";
      await holding.query(inbox, [reader.name]);
      post = await service.post(writer, { community });
      expect(await postsOf(reader)).toEqual([]);
    } finally {
      await holding.query("ROLLBACK");
      holding.release();
    }
    expect(await postsOf(reader)).toEqual([post]);
  });

  it("comes after a clock was set back by minutes, and nothing from before the subscription does", async () => {
    const { reader, community } = await fresh();
    await service.post(writer, { community, title: "Before" });
    await follow(`communities/${community}`, reader);
    const post = await service.post(writer, { community });
    ahead += 30 * 60_000;
    expect(await postsOf(reader)).toEqual([post]);
    ahead -= 30 * 60_000;
    const next = await service.post(writer, { community });
    expect(await postsOf(reader)).toEqual([next, post]);
  });

  it("still comes when a replica has served with a clock that was three years ahead", async () => {
    const { reader, community } = await fresh();
    const late = await service.register("Late");
    await follow(`communities/${community}`, reader);
    const posts = [await service.post(writer, { community })];
    const wrong = await startModerated({
      db: service.db,
      overrides: { now: () => Date.now() + ahead + 3 * 365 * 86_400_000 },
    });
    expect((await wrong.rest("/readyz")).body.warning).toContain("waits for an operator");
    const ask = { key: late.key, method: "PUT" };
    expect((await wrong.rest(`subscriptions/communities/${community}`, ask)).status).toBe(200);
    for (const { key } of [reader, late]) await wrong.rest("agents/me/inbox", { key });
    await wrong.post(await service.register("Ahead"), { community });
    await wrong.app.close();
    posts.unshift(await service.post(writer, { community }));
    for (const agent of [reader, late]) expect(await postsOf(agent)).toEqual(posts);
    ahead += 2 * settlingMs;
    posts.unshift(await service.post(writer, { community }));
    for (const agent of [reader, late]) expect(await postsOf(agent)).toEqual(posts);
  });
});
