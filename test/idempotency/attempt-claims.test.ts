// A node of a cluster, whose COMMITs get no answer: calls without an idempotency key still happen once.
import { expect, it, vi } from "vitest";
import { type Cut, startCuttingProxy } from "../support/cutting-proxy.ts";
import { createDatabaseWithSchema } from "../support/database.ts";
import { startGaleraRelay } from "../support/galera-relay.ts";
import { recount } from "../support/recount.ts";
import { startService } from "../support/service.ts";

const db = await createDatabaseWithSchema();
const proxy = await startCuttingProxy((await startGaleraRelay(db.config)).config);
// What the service does by the clock would commit as well.
vi.useFakeTimers({ toFake: ["setInterval"] });
const service = await startService({ db, config: { database: proxy.config } });
vi.useRealTimers();
const author = await service.register();
const voter = await service.register();
const postId: number = (await service.rest("posts", { key: author.key, body: { title: "Discussed" } })).body.post.id;

const claims = async () => (await db.rows<{ id: Buffer }>("SELECT id FROM idempotency_replies")).length;

it.each<[Cut, string, () => { path: string; body: object; key: string }, number]>([
  ["before", "comment", () => ({ path: `posts/${postId}/comments`, body: { body: "Once" }, key: author.key }), 201],
  ["after", "comment", () => ({ path: `posts/${postId}/comments`, body: { body: "Once" }, key: author.key }), 201],
  ["before", "vote", () => ({ path: `posts/${postId}/vote`, body: { vote: 1 }, key: voter.key }), 200],
  ["after", "vote", () => ({ path: `posts/${postId}/vote`, body: { vote: -1 }, key: voter.key }), 200],
])("a COMMIT that is cut %s the database has it lets a %s happen once", async (when, kind, call, status) => {
  const { path, ...ask } = call();
  const [before, claimed] = [await service.rest(`posts/${postId}`), await claims()];
  proxy.cutAtText("COMMIT", when);
  const reply = await service.rest(path, ask);
  expect([proxy.wasCut(), reply.status]).toEqual([true, status]);
  expect(reply.headers.get("idempotency-replayed")).toBeNull();
  const { post } = (await service.rest(`posts/${postId}`)).body;
  expect(post.comment_count).toBe(before.body.post.comment_count + (kind === "comment" ? 1 : 0));
  if (kind === "vote") expect([post.score, reply.body.score]).toEqual([reply.body.your_vote, post.score]);
  expect(await claims()).toBe(claimed + 1);
  expect(await recount(db)).toEqual([]);
});

it("the claim of a call is deleted long before a key would be", async () => {
  const rows = await db.rows<{ due_at: number; created_at: number; sealed: number; reply: null }>(
    "SELECT due_at, created_at, sealed, reply FROM idempotency_replies",
  );
  expect(rows.length).toBeGreaterThan(3);
  for (const { due_at, created_at, sealed, reply } of rows) {
    expect([due_at - created_at, sealed, reply]).toEqual([86_400_000, 1, null]);
    expect(due_at - Date.now()).toBeLessThanOrEqual(600_000);
  }
});

it("a single server needs no claims", async () => {
  const single = await startService({ db });
  const claimed = await claims();
  const reply = await single.rest(`posts/${postId}/comments`, { key: author.key, body: { body: "Plain" } });
  expect([reply.status, await claims()]).toEqual([201, claimed]);
});
