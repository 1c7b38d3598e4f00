// What an agent follows: the list of it, and the feed of it. subscriptions.test.ts has what comes into the inbox.
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { maxSubscriptions } from "../../src/store/tables/subscriptions.ts";
import { spam } from "../support/moderation.ts";
import { recount } from "../support/recount.ts";
import { startFollowing } from "./following.ts";

/** How far the clock of the service is ahead, in milliseconds. */
let ahead = 0;
const { follow, fresh, inboxOf, service, writer } = await startFollowing({
  overrides: { now: () => Date.now() + ahead },
});

describe("subscriptions", () => {
  it("are listed, the newest first, and end", async () => {
    const { reader, community } = await fresh();
    const thread = await service.post(writer);
    const paths = [`communities/${community}`, `threads/${thread}`, `agents/${writer.name}`];
    for (const path of paths) {
      await follow(path, reader);
      ahead += 1;
    }
    const list = async () => (await service.rest("subscriptions", { key: reader.key })).body;
    expect((await list()).subscriptions.map(({ kind, target }: Record<string, string>) => `${kind}/${target}`)).toEqual(
      paths.toReversed(),
    );
    const began = (await list()).subscriptions[2].created_at;
    ahead += 1_000;
    // A repeat changes nothing.
    expect((await follow(`communities/${community}`, reader)).body).toMatchObject({
      subscription: { created_at: began },
      subscriptions: 3,
    });
    for (let i = 0; i < 2; i++) {
      const { status, body } = await follow(`communities/${community}`, reader, "DELETE");
      expect([status, body]).toEqual([200, { ok: true, subscriptions: 2 }]);
    }
    await service.post(writer, { community });
    expect((await inboxOf(reader)).filter((item: { community: string }) => item.community === community)).toMatchObject(
      [{ agent: writer.name }],
    );
    expect((await follow(`agents/${writer.name}`, reader, "DELETE")).body).toEqual({ ok: true, subscriptions: 1 });
    expect((await list()).subscriptions).toMatchObject([{ kind: "threads", target: String(thread) }]);
  });

  it("end also where the thread is removed or the agent erased", async () => {
    const { reader } = await fresh();
    const gone = await service.register("Gone");
    const thread = await service.post(gone);
    await follow(`threads/${thread}`, reader);
    await follow(`agents/${gone.name}`, reader);
    await follow(`agents/${reader.name}`, gone);
    await service.rest(`posts/${thread}`, { key: gone.key, method: "DELETE" });
    await service.operator.eraseAgent({ name: gone.name, reason: spam });
    const targets = (await service.rest("subscriptions", { key: reader.key })).body.subscriptions;
    expect(targets.map(({ target }: { target: string }) => target).toSorted()).toEqual([String(thread), "[removed]"]);
    expect(await inboxOf(reader)).toEqual([]);
    for (const path of [`threads/${thread}`, `agents/${gone.name}`]) {
      const refused = await follow(path, reader);
      expect([refused.status, refused.body.error]).toEqual([404, "not_found"]);
    }
    await follow(`threads/${thread}`, reader, "DELETE");
    expect((await follow(`agents/${gone.name}`, reader, "DELETE")).body.subscriptions).toBe(0);
    // Its own subscriptions went with it.
    const sql = "SELECT COUNT(*) AS n FROM subscriptions WHERE agent_id = (SELECT id FROM agents WHERE name_key = ?)";
    expect(await service.db.rows(sql, [gone.name.toLowerCase()])).toEqual([{ n: 0 }]);
    expect(await recount(service.db)).toEqual([]);
  });

  it.each([
    ["communities/nowhere", 404, "not_found", "target"],
    ["threads/999999", 404, "not_found", undefined],
    ["agents/[removed]", 404, "not_found", "target"],
    ["threads/first", 400, "bad_input", "target"],
    ["threads/9007199254740992", 400, "bad_input", "target"],
    ["community/general", 400, "bad_input", "kind"],
  ])("refuses %s", async (path, status, error, field) => {
    for (const method of ["PUT", "DELETE"]) {
      const reply = await follow(encodeURI(path), writer, method);
      expect([reply.status, reply.body.error, reply.body.field]).toEqual([status, error, field]);
    }
  });

  it(`are at most ${maxSubscriptions}, whoever subscribes at the same time`, async () => {
    const { reader, community } = await fresh();
    await follow(`communities/${community}`, reader);
    const id = `(SELECT id FROM agents WHERE name = '${reader.name}')`;
    const values = Array.from({ length: maxSubscriptions - 3 }, (_, i) => `(${id}, 'threads', ${i + 1e6}, 1, 1)`);
    await service.db.rows(`INSERT INTO subscriptions VALUES ${values.join(", ")}`);
    const replies = await Promise.all(
      Array.from({ length: 6 }, (_, i) =>
        follow(i < 3 ? "communities/general" : `agents/${["Writer", reader.name][i % 2]}`, reader),
      ),
    );
    const message = `An agent has at most ${maxSubscriptions} subscriptions. End one first.`;
    const refused = replies.filter(({ status }) => status !== 200);
    for (const { body } of refused) expect(body).toEqual({ ok: false, error: "forbidden", message });
    const { subscriptions } = (await service.rest("subscriptions", { key: reader.key })).body;
    expect(subscriptions).toHaveLength(maxSubscriptions);
    // A repeat needs no room.
    expect((await follow(`communities/${community}`, reader)).status).toBe(200);
    await service.db.rows("DELETE FROM subscriptions WHERE target_id >= 1000000");
  });
});

describe("the feed of what is followed", () => {
  const feed = (query: string, key?: string) => service.rest(`feed?subscribed=true${query}`, { key });

  it("has the posts of communities and agents that are followed, newest first, each once, by pages", async () => {
    const { reader, community } = await fresh();
    const author = await service.register("Author");
    const wanted: number[] = [];
    for (let i = 0; i < 5; i++) {
      wanted.push(await service.post(author, { community }));
      wanted.push(await service.post(writer, { community }));
      wanted.push(await service.post(author));
      await service.post(writer);
    }
    const thread = await service.post(writer);
    await service.comment(author, thread);
    const empty = (await feed("", reader.key)).body;
    expect(empty).toMatchObject({ sort: "new", community: null, count: 0, next_cursor: null, posts: [] });
    for (const path of [`communities/${community}`, `agents/${author.name}`, `threads/${thread}`]) {
      await follow(path, reader);
    }
    const seen: number[] = [];
    for (let cursor = ""; ; ) {
      const { status, headers, body } = await feed(`&limit=4${cursor}`, reader.key);
      // Caches keep nothing without asking.
      expect([status, headers.get("cache-control")]).toEqual([200, "no-cache"]);
      seen.push(...body.posts.map(({ id }: { id: number }) => id));
      expect(body).toMatchObject({ sort: "new", limit: 4, count: body.posts.length, next_offset: null });
      if (body.next_cursor === null) break;
      cursor = `&cursor=${body.next_cursor}`;
    }
    expect(seen).toEqual(wanted.toReversed());
    // What was followed is left out once it is not.
    await follow(`communities/${community}`, reader, "DELETE");
    const { posts } = (await feed("&limit=50&sort=new&offset=0", reader.key)).body;
    expect(posts.map(({ author }: { author: { name: string } }) => author.name)).toEqual(Array(10).fill(author.name));
  });

  it("is each reader's own, also when many ask at the same time", async () => {
    const readers = await Promise.all([1, 2, 3].map(() => service.register()));
    const names = await Promise.all(
      readers.map(async (reader, i) => {
        const community = `own-${i}`;
        await service.found(writer, community);
        await follow(`communities/${community}`, reader);
        await service.post(writer, { community });
        return community;
      }),
    );
    const replies = await Promise.all(Array.from({ length: 30 }, (_, i) => feed("", readers[i % 3]?.key)));
    expect(replies.map(({ body }) => body.posts.map((post: { community: string }) => post.community))).toEqual(
      replies.map((_, i) => [names[i % 3]]),
    );
    const all = await service.rest("feed?limit=50");
    expect(new Set(all.body.posts.map((post: { community: string }) => post.community)).size).toBeGreaterThan(3);
  });

  it("needs an API key that works", async () => {
    const gone = await service.register();
    expect((await feed("", gone.key)).status).toBe(200);
    await service.operator.revokeKeys({ name: gone.name, reason: spam });
    for (const key of [undefined, gone.key, "x".repeat(48)]) {
      const { status, headers, body } = await feed("", key);
      expect([status, body.error, headers.get("www-authenticate")]).toEqual([401, "unauthorized", "Bearer"]);
    }
    await expect(service.connect(PostService, "grpc").listPosts({ subscribed: true })).rejects.toMatchObject({
      code: Code.Unauthenticated,
    });
    expect((await service.rest("feed?subscribed=false")).status).toBe(200);
  });

  it.each([
    ["&sort=hot", "sort"],
    ["&offset=1", "offset"],
    ["&community=general", "community"],
    ["&cursor=x", "cursor"],
    [`&cursor=${Buffer.from('["subscribed",1]').toString("base64url")}`, "cursor"],
  ])("refuses %s", async (query, field) => {
    const { status, body } = await feed(query, writer.key);
    expect([status, body.error, body.field]).toEqual([400, "bad_input", field]);
  });
});
