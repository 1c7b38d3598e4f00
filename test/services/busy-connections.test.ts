// Calls that wait for a table hold every connection that they may use. All other calls go on, from the look-up of the API
// key to the commit.
import { randomUUID } from "node:crypto";
import { describe, expect, it } from "vitest";
import { startLedger } from "../ledger/support.ts";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const databaseConnections = 8;
/** How many of them reads may use, and how many writes. The other two are for work that must not wait. */
const usable = 3;

const metricsToken = "t".repeat(32);
const metrics = { host: "127.0.0.1", port: undefined, token: metricsToken };
const config = { databaseConnections, databaseTimeoutMs: 60_000, metrics };
const db = await createDatabaseWithSchema();
/** What the replica registers is unknown to `service`. */
const [service, replica] = await Promise.all([startLedger({ config, db }), startLedger({ config, db })]);
const { key } = await service.register();
expect((await service.rest("posts", { key, body: { title: "The first post" } })).status).toBe(201);

/** Makes 20 calls while a table is locked, and runs `work` when they hold all connections that they may use. */
async function whileCallsWait(table: string, call: () => Promise<{ status: number }>, work: () => Promise<void>) {
  const connection = await db.pool.getConnection();
  await connection.query(`LOCK TABLES ${table} WRITE`);
  let ended = 0;
  const calls = Array.from({ length: 20 }, async () => {
    const { status } = await call();
    ended += 1;
    return status;
  });
  try {
    await waitUntil(`${usable} waiting statements`, async () => {
      const rows = await db.rows<{ db: string | null; State: string | null }>("SHOW FULL PROCESSLIST");
      const waiting = rows.filter((row) => row.db === db.config.database && /lock/i.test(row.State ?? ""));
      return waiting.length >= usable;
    });
    await work();
    expect(ended).toBe(0);
  } finally {
    await connection.query("UNLOCK TABLES");
    connection.release();
  }
  return new Set(await Promise.all(calls));
}

const createCommunity = (apiKey: string) =>
  service.rest("communities", {
    key: apiKey,
    body: { name: `c-${randomUUID().slice(0, 20)}`, title: "A community" },
  });

describe("while reads hold all other connections", () => {
  // Identical reads would share one connection.
  let reads = 0;
  const readPost = () => service.rest(`posts/1/comments?limit=${++reads}`);
  const readReceipt = () => service.rest(`house/receipts?from=1&limit=${++reads}`);

  it("writes go on, with keys that this process knows and with others", async () => {
    const { key: unknown } = await replica.register();
    const statuses = await whileCallsWait("receipts", readReceipt, async () => {
      for (const each of [key, unknown, unknown]) expect((await createCommunity(each)).status).toBe(201);
      const wrong = `stoa_${"x".repeat(43)}`;
      expect((await createCommunity(wrong)).status).toBe(401);
      const registration = { key: wrong, body: { name: `new-${randomUUID().slice(0, 8)}` } };
      expect((await service.rest("agents/register", registration)).status).toBe(201);
    });
    expect(statuses).toEqual(new Set([200]));
  });

  it("writes are repeated and keys are rotated", async () => {
    const { key: old } = await replica.register();
    const headers = { "idempotency-key": randomUUID() };
    const rotate = () => service.rest("agents/me/key", { key: old, headers, body: { grace_seconds: 0 } });
    const statuses = await whileCallsWait("receipts", readReceipt, async () => {
      const first = await rotate();
      expect(first.status).toBe(201);
      // The old key is past its grace, and may only repeat the rotation.
      const second = await rotate();
      expect([second.body, second.headers.get("idempotency-replayed")]).toEqual([first.body, "true"]);
    });
    expect(statuses).toEqual(new Set([200]));
  });

  it("the ledger seals, and the service is ready", async () => {
    const statuses = await whileCallsWait("posts", readPost, async () => {
      expect(Number((await service.seal()).seq)).toBeGreaterThan(1);
      expect((await service.rest("/readyz")).status).toBe(200);
    });
    expect(statuses).toEqual(new Set([200]));
  });
});

describe("while writes hold all other connections", () => {
  it("reads go on, with keys that this process knows and with others, the ledger seals, and the service is ready", async () => {
    const { key: unknown } = await replica.register();
    const write = () => createCommunity(key);
    const statuses = await whileCallsWait("communities", write, async () => {
      for (const each of [key, unknown]) expect((await service.rest("agents/me", { key: each })).status).toBe(200);
      expect((await service.rest("house/receipts/1", { key: `stoa_${"y".repeat(43)}` })).status).toBe(200);
      expect((await service.rest("agents/me", { key: `stoa_${"z".repeat(43)}` })).status).toBe(401);
      expect(Number((await service.seal()).seq)).toBeGreaterThan(1);
      expect((await service.rest("/readyz")).status).toBe(200);
    });
    expect(statuses).toEqual(new Set([201]));
  });

  it("the first use of a key answers, although the response that holds the key cannot be erased yet", async () => {
    const body = { name: `first-${randomUUID().slice(0, 8)}` };
    const headers = { "idempotency-key": randomUUID() };
    const { api_key } = (await replica.rest("agents/register", { body, headers })).body;
    const write = () => createCommunity(key);
    const work = async () => expect((await service.rest("agents/me", { key: api_key })).status).toBe(200);
    const statuses = await whileCallsWait("communities", write, work);
    expect(statuses).toEqual(new Set([201]));
    // The erasure waits for a connection behind the writes, and nobody waits for the erasure.
    const again = () => replica.rest("agents/register", { body, headers });
    await waitUntil("the response is erased", async () => (await again()).body.error === "bad_input");
    expect((await again()).status).toBe(400);
  });
});

describe("while many calls of an agent wait, a call of another waits for few of them", () => {
  const create = (by: string) => service.rest("posts", { key: by, body: { title: "A post" } });
  const waiting = async () => {
    const headers = { authorization: `Bearer ${metricsToken}` };
    const asked = await fetch(`${service.url}/metrics`, { headers });
    return Number(/^stoa_database_calls_waiting (\d+)$/m.exec(await asked.text())?.[1]);
  };
  let numbers = 0;
  // Identical reads would share one connection.
  const look = (by: string) => service.rest(`communities/unknown-${++numbers}`, { key: by });

  it.each([
    ["create", "posts", create],
    ["read", "communities", look],
  ])("a %s", async (_what, table, ask) => {
    const { key: other } = await service.register();
    // The first use of a key also writes.
    await service.rest("agents/me", { key: other });
    const order: string[] = [];
    const call = (by: string) =>
      ask(by).then((reply) => {
        order.push(by);
        return reply;
      });
    let last: ReturnType<typeof call> | undefined;
    const work = async () => {
      let before = 0;
      await waitUntil("the flood to wait", async () => {
        before = await waiting();
        return before >= 20 - usable;
      });
      last = call(other);
      await waitUntil("the other call to wait", async () => (await waiting()) > before);
    };
    await whileCallsWait(table, () => call(key), work);
    await last;
    expect(order.indexOf(other)).toBeLessThan(10);
  });
});

it("while a reader has asked for hundreds of pages of posts, another gets one", async () => {
  const connection = await db.pool.getConnection();
  await connection.query("LOCK TABLES posts WRITE");
  const page = (path: string, init: RequestInit = {}) => fetch(service.url + path, init);
  const leaving = new AbortController();
  try {
    const refused = Promise.withResolvers<void>();
    const asked = { headers: { authorization: `Bearer ${key}` }, signal: leaving.signal };
    const flood = Array.from({ length: 400 }, async (_, n) => {
      const { status } = await page(`/posts/1?from=${n + 1}`, asked);
      if (status === 503) refused.resolve();
    });
    const ended = Promise.allSettled(flood);
    await refused.promise;
    const other = page("/posts/1");
    // It arrives before this one does.
    expect((await service.rest("house/receipts")).status).toBe(200);
    await connection.query("UNLOCK TABLES");
    expect((await other).status).toBe(200);
    leaving.abort();
    await ended;
  } finally {
    await connection.query("UNLOCK TABLES");
    connection.release();
  }
});

it("while deep pages of feeds wait for each other, other pages answer", async () => {
  const proxy = await startCuttingProxy(db.config);
  const { url, rest } = await startService({ db: { ...db, config: proxy.config }, config: { databaseConnections } });
  await db.rows(
    "INSERT INTO posts (id, community_id, author_id, title, body, created_at) VALUES (1000000, 1, 1, '', '', 0)",
  );
  // One of them runs at a time. It never ends.
  proxy.cutAtText("ORDER BY created_at, id LIMIT 1 OFFSET", "before", "freeze");
  const waiting = new AbortController();
  const deep = Array.from({ length: 16 }, (_, i) =>
    fetch(`${url}/api/v1/feed?sort=top&t=year&offset=${1_000 + i}`, { signal: waiting.signal }).catch(() => undefined),
  );
  await waitUntil("a deep page", () => proxy.isCut());
  for (const path of ["feed", "feed?offset=999", "communities/general/posts"])
    expect((await rest(path)).status).toBe(200);
  waiting.abort();
  await Promise.all(deep);
  await db.rows("DELETE FROM posts WHERE id = 1000000");
});
