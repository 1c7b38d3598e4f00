// Limits of writes: charged in the transaction of the write, after every other check, over all replicas.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Board } from "../../src/board/board.ts";
import { forgetAddresses } from "../../src/board/write-limits.ts";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { openStore } from "../support/database.ts";
import { type Limited, startLimited, untilRefused } from "../support/limited.ts";
import { recount, rowCounts } from "../support/recount.ts";

const small = {
  posts: { calls: 3, windowSeconds: 60 },
  comments: { calls: 2, windowSeconds: 60 },
  votes: { calls: 4, windowSeconds: 60 },
  communities: { calls: 1, windowSeconds: 3600 },
  keys: { calls: 2, windowSeconds: 60 },
  registrations: { calls: 1000, windowSeconds: 60 },
  edits: { calls: 4, windowSeconds: 3600 },
  reports: { calls: 2, windowSeconds: 3600 },
};
const unique = (() => {
  let count = 0;
  return () => `c${++count}`.padEnd(6, "0");
})();

const service = await startLimited(small);
const { db, clock } = service;
const { key: other } = await service.register();
const postId = (await service.rest("posts", { key: other, body: { title: "Someone else's" } })).body.post.id;

describe("an agent's writes", () => {
  it("are accepted in a burst, then steadily; waiting for retry_after_seconds is enough", async () => {
    const { key } = await service.register();
    const write = () => service.rest(`posts/${postId}/comments`, { key, body: { body: "Again" } });
    const { allowed, refusal } = await untilRefused(write);
    expect(allowed).toBe(2);
    expect(refusal.body).toEqual({
      ok: false,
      error: "rate_limited",
      message: "Too many new comments; try again in 30 s.",
      retry_after_seconds: 30,
    });
    expect(refusal.headers.get("retry-after")).toBe("30");
    expect(refusal.headers.get("ratelimit")).toMatch(/^"comments";r=0;t=30, /);
    clock.now += 30_000 - 1;
    expect((await write()).status).toBe(429);
    clock.now += 1;
    expect([(await write()).status, (await write()).status]).toEqual([201, 429]);
    clock.pass(60);
    expect((await untilRefused(write)).allowed).toBe(2);
  });

  it("include key rotations, and a refused rotation leaves the current key valid", async () => {
    let { key } = await service.register();
    const rotate = async () => {
      const reply = await service.rest("agents/me/key", { key, body: {} });
      if (reply.status === 201) key = reply.body.api_key;
      return reply;
    };
    expect((await untilRefused(rotate)).allowed).toBe(2);
    expect((await service.rest("agents/me", { key })).status).toBe(200);
    clock.pass(30);
    expect((await rotate()).status).toBe(201);
  });

  it("are limited by kind and by agent", async () => {
    const [flooding, calm] = [await service.register(), await service.register()];
    await untilRefused(() => service.rest("posts", { key: flooding.key, body: { title: "Flood" } }));
    const comment = { key: flooding.key, body: { body: "Not a post" } };
    expect((await service.rest(`posts/${postId}/comments`, comment)).status).toBe(201);
    expect((await service.rest("posts", { key: calm.key, body: { title: "Calm" } })).status).toBe(201);
  });

  it("spend nothing when they are refused for another reason", async () => {
    const { key } = await service.register();
    const own = await service.rest("posts", { key, body: { title: "Mine" } });
    expect(own.headers.get("ratelimit")).toMatch(/^"posts";r=2;t=20, "calls";/);
    const refusals = [
      await service.rest("posts", { key, body: "{" }),
      await service.rest("posts", { key, body: { title: "no" } }),
      await service.rest("posts", { key, body: { title: "Nowhere", community: "no-such-place" } }),
      await service.rest("posts", { key, body: { title: "x".repeat(300_000) } }),
      await service.rest("posts", { key: "stoa_wrong", body: { title: "Not me" } }),
      await service.rest(`posts/${own.body.post.id}/upvote`, { key, method: "POST" }),
      await service.rest("communities", { key, body: { name: "general", title: "Taken" } }),
      await service.rest("posts/999999/upvote", { key, method: "POST" }),
    ];
    expect(refusals.map(({ status }) => status)).toEqual([400, 400, 404, 413, 401, 403, 409, 404]);
    for (const { headers } of refusals) expect(headers.get("ratelimit")).not.toMatch(/"(?:posts|votes|communities)"/);
    expect((await untilRefused(() => service.rest("posts", { key, body: { title: "Again" } }))).allowed).toBe(2);
    const community = { key, body: { name: unique(), title: "Free" } };
    expect((await service.rest("communities", community)).status).toBe(201);
    let value = 0;
    const changeVote = () => {
      value = 1 - value;
      return vote(key, value);
    };
    expect((await untilRefused(changeVote)).allowed).toBe(4);
  });

  const vote = (key: string, value: number) => service.rest(`posts/${postId}/vote`, { key, body: { vote: value } });

  it("spend nothing if they change nothing, such as the same vote again", async () => {
    const { key } = await service.register();
    const replies = [];
    for (let i = 0; i < 10; i++) replies.push(await service.rest(`posts/${postId}/upvote`, { key, method: "POST" }));
    expect(replies.map(({ status }) => status)).toEqual(Array(10).fill(200));
    expect(replies[0]?.headers.get("ratelimit")).toMatch(/^"votes";r=3;t=15, "calls";/);
    expect(replies[9]?.headers.get("ratelimit")).toMatch(/^"calls";/);
    for (const value of [0, 1, 0]) expect((await vote(key, value)).status).toBe(200);
    expect((await vote(key, 1)).body.retry_after_seconds).toBe(15);
    // What changes nothing goes through even now.
    expect((await vote(key, 0)).status).toBe(200);
  });

  it("spend nothing if they repeat an edit, a removal, a lock, an appointment or a report", async () => {
    const [author, reader] = [await service.register(), await service.register()];
    await service.rest("communities", { key: author.key, body: { name: "costs", title: "Costs" } });
    const post = async () =>
      (await service.rest("posts", { key: author.key, body: { title: "A post", community: "costs" } })).body.post.id;
    const [one, two, three] = [await post(), await post(), await post()];
    const ask = async (path: string, method: string, { key } = author, body?: object) =>
      (await service.rest(path, { method, key, ...(body === undefined ? {} : { body }) })).status;
    // Four changes, and their repeats.
    for (let repeat = 0; repeat < 3; repeat++) {
      expect(await ask(`posts/${one}`, "PATCH", author, { body: "Other" })).toBe(200);
      expect(await ask(`posts/${one}/lock`, "POST")).toBe(200);
      expect(await ask(`posts/${two}`, "DELETE")).toBe(200);
      expect(await ask(`communities/costs/moderators/${reader.name}`, "PUT")).toBe(200);
    }
    expect(await ask(`posts/${three}`, "DELETE")).toBe(429);
    expect((await service.rest(`posts/${three}`)).body.post.removed).toBeNull();
    const report = (id: number) => ask(`posts/${id}/report`, "POST", reader, { reason: "spam" });
    for (const id of [one, three, one, three]) expect(await report(id)).toBe(200);
    clock.pass(20);
    const four = await post();
    expect(await report(four)).toBe(429);
    // Refusals are free as well: the reader's edits are untouched.
    expect(await ask(`posts/${four}/lock`, "POST", reader)).toBe(200);
  });

  it("spend only a call when they are replayed, even if their own limit is spent", async () => {
    const { key } = await service.register();
    const ask = { key, body: { title: "Once" }, headers: { "idempotency-key": `key-of-${unique()}-for-replays` } };
    const first = await service.rest("posts", ask);
    const { refusal } = await untilRefused(() => service.rest("posts", { key, body: { title: "More" } }));
    const calls = (headers: Headers) => Number(/"calls";r=(\d+)/.exec(headers.get("ratelimit") ?? "")?.[1]);
    const left = calls(refusal.headers);
    for (let i = 1; i <= 5; i++) {
      const again = await service.rest("posts", ask);
      expect(again.status).toBe(201);
      expect(again.headers.get("idempotency-replayed")).toBe("true");
      expect(again.body).toEqual(first.body);
      expect(calls(again.headers)).toBe(left - i);
    }
    expect(calls((await service.rest("agents/me", { key })).headers)).toBe(left - 6);
  });

  it("write nothing when they are refused, and their idempotency key can be used again", async () => {
    const { key, name } = await service.register();
    await untilRefused(() => service.rest("posts", { key, body: { title: "Until none is left" } }));
    const before = await rowCounts(db);
    const agent = await service.rest(`agents/${name}`);
    const ask = { key, body: { title: "Too soon" }, headers: { "idempotency-key": `key-of-${unique()}-too-soon` } };
    const refusal = await service.rest("posts", ask);
    expect(refusal.body.error).toBe("rate_limited");
    expect(await rowCounts(db)).toEqual(before);
    expect((await service.rest(`agents/${name}`)).body).toEqual(agent.body);
    clock.pass(refusal.body.retry_after_seconds);
    expect((await service.rest("posts", ask)).status).toBe(201);
    expect(await recount(db)).toEqual([]);
  });

  it("have the same limits over two replicas as over one, even at the same moment", async () => {
    const replica = await startLimited(small, { clock, db });
    const { key } = await service.register();
    const replies = await Promise.all(
      Array.from({ length: 24 }, (_, i) =>
        (i % 2 === 0 ? service : replica).rest("posts", { key, body: { title: `At once ${i}` } }),
      ),
    );
    expect(replies.map(({ status }) => status).sort()).toEqual([...Array(3).fill(201), ...Array(21).fill(429)]);
    for (const { status, body } of replies) if (status === 429) expect(body.retry_after_seconds).toBe(20);
    clock.pass(20);
    expect((await replica.rest("posts", { key, body: { title: "Later" } })).status).toBe(201);
    expect((await service.rest("posts", { key, body: { title: "Later" } })).status).toBe(429);
    expect(await recount(db)).toEqual([]);
  });

  it("are refused as too many after the clock was set back, also if the database cannot correct the limit", async () => {
    const proxy = await startCuttingProxy(db.config);
    const replica = await startLimited(small, { clock, db: { ...db, config: proxy.config } });
    const { key } = await service.register();
    const write = () => replica.rest("communities", { key, body: { name: unique(), title: "Again" } });
    expect((await untilRefused(write)).allowed).toBe(1);
    proxy.cutAtText("UPDATE agent_limits SET arrival", "before");
    clock.pass(-86_400);
    let reply = await write();
    // The limits that are not stored come first. Each makes it wait for a few seconds.
    for (; reply.body.retry_after_seconds < 10; reply = await write()) {
      expect(reply.status).toBe(429);
      clock.pass(reply.body.retry_after_seconds);
    }
    expect(reply).toMatchObject({ status: 429, body: { error: "rate_limited", retry_after_seconds: 3600 } });
    expect(proxy.isCut()).toBe(true);
    clock.pass(86_400);
  });

  it("are allowed soon after the clock was set back, without extra calls", async () => {
    const { key } = await service.register();
    const write = () => service.rest("posts", { key, body: { title: "Back" } });
    await untilRefused(write);
    clock.pass(-86_400);
    // Each limit that had been spent from makes it wait once: the two of its address, that of its calls, that of its posts.
    const waits: number[] = [];
    for (let reply = await write(); reply.status !== 201; reply = await write()) {
      waits.push(reply.body.retry_after_seconds);
      clock.pass(reply.body.retry_after_seconds);
    }
    expect(waits).toContain(20);
    expect(waits.reduce((sum, wait) => sum + wait)).toBeLessThanOrEqual(1 + 2 + 1 + 20);
    expect((await write()).body.retry_after_seconds).toBe(20);
    clock.pass(86_400);
  });
});

describe("registrations", () => {
  const quotas = {
    registrations: { calls: 3, windowSeconds: 60 },
    refusals: { calls: 5, windowSeconds: 10 },
    credentials: { calls: 2, windowSeconds: 60 },
  };
  let first: Limited;
  let second: Limited;
  beforeAll(async () => {
    first = await startLimited(quotas, { clock, db });
    second = await startLimited(quotas, { clock, db });
  });
  // All limits are regained by then.
  beforeEach(() => clock.pass(3600));
  const register = (at: Limited, address: string, name = `agent-${unique()}`, key?: string) =>
    at.from(address, "agents/register", {
      body: { name },
      ...(key === undefined ? {} : { headers: { "idempotency-key": key } }),
    });

  it("are limited by client address over two replicas; a refused one spends nothing and takes no name", async () => {
    expect((await register(first, "192.0.2.1", "Zeno")).status).toBe(201);
    expect((await register(second, "192.0.2.1", "Zeno")).status).toBe(409);
    expect((await register(second, "192.0.2.1")).status).toBe(201);
    expect((await register(first, "::ffff:192.0.2.1")).status).toBe(201);
    const refusal = await register(second, "192.0.2.1", "Cleanthes");
    expect(refusal.status).toBe(429);
    expect(refusal.body.retry_after_seconds).toBe(20);
    expect((await first.rest("agents/Cleanthes")).status).toBe(404);
    expect((await register(second, "192.0.2.2", "Cleanthes")).status).toBe(201);
  });

  it("are forgotten with their addresses when the limit has run out, not before, and not by a clock in doubt", async () => {
    const db = openStore(service.db, 2);
    let doubts = false;
    const now = () => clock.now;
    const board = new Board(db, now, () => (doubts ? 0 : now()));
    const sweep = () => forgetAddresses(board, new AbortController().signal);
    const addresses = () => service.db.rows("SELECT address FROM address_limits ORDER BY address");
    await sweep();
    for (const address of ["192.0.2.1", "192.0.2.1", "192.0.2.2"]) await register(first, address);
    clock.pass(20);
    await sweep();
    expect(await addresses()).toEqual([{ address: "192.0.2.1" }, { address: "192.0.2.2" }]);
    clock.now += 1;
    await sweep();
    expect(await addresses()).toEqual([{ address: "192.0.2.1" }]);
    clock.pass(20);
    doubts = true;
    await sweep();
    expect(await addresses()).toEqual([{ address: "192.0.2.1" }]);
    doubts = false;
    await sweep();
    expect(await addresses()).toEqual([]);
  });

  it("count as guesses at a secret under unknown idempotency keys, but not as replays", async () => {
    const keys = Array.from({ length: 3 }, () => crypto.randomUUID());
    const made = await register(first, "192.0.2.1", "Chrysippos", keys[0]);
    expect(made.headers.get("ratelimit")).toContain('"credentials";r=1;t=30');
    for (let i = 0; i < 3; i++)
      expect((await register(first, "192.0.2.1", "Chrysippos", keys[0])).body).toEqual(made.body);
    // A guess that finds the name taken.
    expect((await register(first, "192.0.2.1", "Chrysippos", keys[1])).status).toBe(409);
    const refusal = await register(first, "192.0.2.1", "Chrysippos", keys[2]);
    expect(refusal.body).toMatchObject({ error: "rate_limited", retry_after_seconds: 30 });
    // Not even a right one is looked up now; nor does it matter elsewhere.
    expect((await register(first, "192.0.2.1", "Chrysippos", keys[0])).status).toBe(429);
    expect((await register(first, "192.0.2.2", "Chrysippos", keys[0])).body).toEqual(made.body);
    expect((await register(first, "192.0.2.1")).status).toBe(201);
  });
});
