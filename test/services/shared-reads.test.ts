import { gunzipSync } from "node:zlib";
import { beforeAll, describe, expect, it } from "vitest";
import { PostService } from "../../gen/stoa/v1/post_service_pb.js";
import { serverOf } from "../support/database-link.ts";
import { rawRequest } from "../support/raw-request.ts";
import { startRelay } from "../support/relay.ts";
import { type Service, startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const first = await startService();
const replicas: [Service, Service] = [first, await startService({ db: first.db })];
const author = (await first.register()).key;
const voters = await Promise.all(Array.from({ length: 4 }, async () => (await first.register()).key));
const post: number = (await first.rest("posts", { key: author, body: { title: "A post", body: "word ".repeat(500) } }))
  .body.post.id;

const times = <T>(count: number, make: (index: number) => T) =>
  Array.from({ length: count }, (_, index) => make(index));

describe("identical reads at once", () => {
  it("miss no write that was acknowledged before they were asked for, on any replica", async () => {
    const [here, there] = replicas;
    let isOver = false;
    // What the readers ask for all the time, so that there is always a read to wait for.
    const feedPath = "feed?sort=new&limit=50";
    const load = replicas.map(async (replica) => {
      while (!isOver) await Promise.all([replica.rest(feedPath), replica.rest(`posts/${post}`)]);
    });
    const misses: string[] = [];
    const grpc = there.connect(PostService, "grpc");
    await Promise.all(
      voters.map(async (key, index) => {
        for (let round = 0; round < 4; round++) {
          const [writer, reader] = round % 2 === 0 ? [here, there] : [there, here];
          const created = (await writer.rest("posts", { key, body: { title: `By ${index}` } })).body.post.id;
          const { body } = await reader.rest(feedPath);
          if (!body.posts.some(({ id }: { id: number }) => id === created)) misses.push(`post ${created}`);
          await writer.rest(`posts/${created}/upvote`, { key: author, method: "POST" });
          const feed = (await reader.rest("posts?limit=50&sort=new")).body.posts;
          const shown = feed.find(({ id }: { id: number }) => id === created);
          if (shown?.score !== 1) misses.push(`vote on ${created}`);
          await writer.rest(`posts/${post}/comments`, { key, body: { body: `${index} ${round}` } });
          const counts = [
            (await reader.rest(`posts/${post}`)).body.comments.length,
            Number((await grpc.getPost({ id: BigInt(post) })).post?.commentCount),
          ];
          if (Math.min(...counts) < round + 1) misses.push(`comment ${round} of ${index}`);
        }
      }),
    );
    isOver = true;
    await Promise.all(load);
    expect(misses).toEqual([]);
  });

  it("are not given what a read has seen that began before", async () => {
    const [, other] = replicas;
    // Replies of the database that hold the community wait in the relay while `held` is there.
    let held: (() => void)[] | undefined;
    const relay = await startRelay(serverOf(other.db.config), (client, server) => {
      client.pipe(server);
      server.on("data", (bytes) => {
        const isHeld = held !== undefined && bytes.includes("Not yet read");
        if (isHeld) held?.push(() => client.write(bytes));
        else client.write(bytes);
      });
    });
    const { socketPath: _, ...account } = other.db.config;
    const config = { ...account, host: "127.0.0.1", port: relay.port };
    const service = await startService({ db: { ...other.db, config } });
    await other.rest("communities", { key: author, body: { name: "unread", title: "Not yet read" } });
    const count = async () => (await service.rest("communities/unread")).body.community.post_count;
    expect(await count()).toBe(0);
    held = [];
    const before = count();
    await waitUntil("the database to have answered", () => (held?.length ?? 0) > 0);
    await other.rest("posts", { key: author, body: { title: "Read", community: "unread" } });
    const after = times(3, count);
    await waitUntil("the next read", () => (held?.length ?? 0) > 1);
    const replies = held;
    held = undefined;
    for (const pass of replies) pass();
    expect(await Promise.all([before, ...after])).toEqual([0, 1, 1, 1]);
  });

  it("take one or two connections, whatever their protocol and spelling", async () => {
    const [service] = replicas;
    const lock = await service.db.pool.getConnection();
    await lock.query("LOCK TABLES posts WRITE");
    const grpc = service.connect(PostService, "grpc");
    const paths = ["feed", "posts", "feed?sort=hot", "posts?limit=25&t=all", "feed?offset=0"];
    const calls = Promise.all([
      ...times(40, (index) =>
        service.rest(paths[index % paths.length] as string).then(({ body }) => body.posts.length),
      ),
      ...times(10, () => grpc.listPosts({}).then(({ feed }) => feed?.posts.length)),
    ]);
    let waiting = 0;
    try {
      await waitUntil("reads that wait for the table", async () => {
        const rows = await service.db.rows<{ db: string | null; State: string | null }>("SHOW FULL PROCESSLIST");
        const { database } = service.db.config;
        waiting = rows.filter(({ db, State }) => db === database && /lock/i.test(State ?? "")).length;
        return waiting >= 2;
      });
    } finally {
      await lock.query("UNLOCK TABLES");
      lock.release();
    }
    // Ten calls would take ten connections if they did not share.
    expect(waiting).toBeLessThan(8);
    expect(new Set(await calls).size).toBe(1);
  });

  it("give each caller what it asked for: its encoding, its warnings, and 304 if it has the response", async () => {
    const { url } = replicas[0];
    const address = `${url}/api/v1/posts/${post}`;
    const tag = String((await rawRequest(address)).headers.etag);
    const answers = await Promise.all(
      times(60, async (index) => {
        const kind = index % 4;
        if (kind === 0) return ["plain", (await rawRequest(address)).body.toString("utf8")];
        if (kind === 1) {
          const { headers, body } = await rawRequest(address, { headers: { "accept-encoding": "gzip" } });
          return [headers["content-encoding"], gunzipSync(body).toString("utf8")];
        }
        if (kind === 2) {
          const { status, headers, body } = await rawRequest(address, { headers: { "if-none-match": tag } });
          return ["304", status, headers.etag, body.length];
        }
        const { warnings, ...rest } = JSON.parse((await rawRequest(`${address}?colour=red`)).body.toString("utf8"));
        return ["warned", warnings.length, JSON.stringify(rest)];
      }),
    );
    const plain = answers[0]?.[1];
    expect(new Set(answers.map((answer) => JSON.stringify(answer)))).toEqual(
      new Set(
        [
          ["plain", plain],
          ["gzip", plain],
          ["304", 304, tag, 0],
          ["warned", 1, plain],
        ].map((each) => JSON.stringify(each)),
      ),
    );
  });

  it("fail alike, each with its own request id", async () => {
    const replies = await Promise.all(times(30, () => replicas[0].rest("posts/999999999")));
    expect(new Set(replies.map(({ status, body }) => `${status} ${body.error}`))).toEqual(new Set(["404 not_found"]));
    expect(new Set(replies.map(({ headers }) => headers.get("x-request-id"))).size).toBe(30);
  });

  it("are not ended by one caller that leaves", async () => {
    const [service] = replicas;
    const leaving = new AbortController();
    const path = `${service.url}/api/v1/feed?sort=top`;
    const gone = times(20, () => fetch(path, { signal: leaving.signal }).then((reply) => reply.text()));
    const staying = times(20, () => service.rest("feed?sort=top"));
    leaving.abort();
    for (const each of gone) await each.catch(() => {});
    expect(new Set((await Promise.all(staying)).map(({ status }) => status))).toEqual(new Set([200]));
  });
});

describe("a large reply with warnings", () => {
  const ask = (query: string, headers = {}) => fetch(`${first.url}/api/v1/posts?limit=50${query}`, { headers });
  beforeAll(async () => {
    for (let count = 0; count < 12; count++) {
      const body = { title: `Post ${count}`, body: "long ".repeat(1_900) };
      expect((await first.rest("posts", { key: author, body })).status).toBe(201);
    }
  });

  it("is the one without them, and the warnings last, however it is asked for", async () => {
    const plain = await (await ask("")).text();
    expect(plain.length).toBeGreaterThan(100_000);
    for (const accepted of ["identity", "br", "gzip"]) {
      const replies = await Promise.all(times(4, (index) => ask(`&odd${index}=1`, { "accept-encoding": accepted })));
      for (const [index, reply] of replies.entries()) {
        const body = await reply.text();
        expect(body.slice(0, plain.length - 1)).toBe(plain.slice(0, -1));
        expect(JSON.parse(body).warnings).toEqual([expect.stringContaining(`odd${index}`)]);
        expect(Number(reply.headers.get("content-length"))).toBe(Buffer.byteLength(body));
      }
    }
  });

  it("has a tag of its own, which If-None-Match finds", async () => {
    const [plain, odd] = await Promise.all([ask(""), ask("&odd=1")]);
    const tag = odd.headers.get("etag") as string;
    expect(tag).not.toBe(plain.headers.get("etag"));
    expect((await ask("&odd=1", { "if-none-match": tag })).status).toBe(304);
    expect((await ask("&other=1", { "if-none-match": tag })).status).toBe(200);
  });
});
