// The feed of the communities and agents that the caller follows.
import { Code } from "@connectrpc/connect";
import { describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { spam } from "../support/moderation.ts";
import { startFollowing } from "./following.ts";

const { follow, fresh, service, writer } = await startFollowing();

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

  it("is served over gRPC", async () => {
    const { reader, community } = await fresh();
    await follow(`communities/${community}`, reader);
    const post = await service.post(writer, { community });
    const headers = { authorization: `Bearer ${reader.key}` };
    const reply = await service.connect(PostService, "grpc").listPosts({ subscribed: true }, { headers });
    expect(reply.feed).toMatchObject({ count: 1n, posts: [{ id: BigInt(post) }] });
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
