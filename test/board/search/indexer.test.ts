// What was written without search becomes findable, and what does not stand any more loses its tokens.
import { expect, it } from "vitest";
import { Board } from "../../../src/board/board.ts";
import { defaultIndexerPace, type IndexerPace, SearchIndexer } from "../../../src/board/search/indexer.ts";
import { listStale, type Searched } from "../../../src/store/tables/search-index.ts";
import { openStore } from "../../support/database.ts";
import { type Service, startService } from "../../support/service.ts";
import { waitUntil } from "../../support/wait.ts";

const never = new AbortController().signal;
const silent = { info() {}, warn() {}, error() {} };
const eager: IndexerPace = { delayMs: 0, share: { looking: 1, indexing: 1 }, roundMs: 60_000, failureMs: 10 };

// The service's own indexer would index, or remove, what the tests write past it.
const service = await startService({ overrides: { indexerPace: { ...defaultIndexerPace, delayMs: 3_600_000 } } });
const db = openStore(service.db, 8);
const board = new Board(db, Date.now);

/** Runs indexers, as on several replicas, until each has finished a round. */
async function indexAll(replicas: number): Promise<void> {
  const indexers = Array.from({ length: replicas }, () => new SearchIndexer(board, silent, eager));
  await waitUntil("a round of each indexer", () => indexers.every(({ rounds }) => rounds > 0));
  await Promise.all(indexers.map((indexer) => indexer.stop()));
}

async function stale(): Promise<string[]> {
  const all: string[] = [];
  for (const type of ["posts", "comments", "communities", "agents"] satisfies Searched[]) {
    for (const id of await listStale(db.reader(never), type, 0, 1_000_000, 10_000)) all.push(`${type} ${id}`);
  }
  return all;
}

async function found({ rest }: Service, type: string, q: string): Promise<number> {
  const { status, body } = await rest(`search?${new URLSearchParams({ type, q, limit: "50" })}`);
  expect(status).toBe(200);
  return body[type].length;
}

it("a version without search writes, edits and removes, and indexers follow, several at a time", async () => {
  const { name, key } = await service.register("Aristo");
  const { pool } = service.db;
  for (let i = 0; i < 30; i++) await service.rest("posts", { key, body: { title: `Porpoise ${i}` } });
  // The first migration creates a community. It is indexed when the service starts.
  await waitUntil("the first community is found", async () => (await found(service, "communities", "general")) === 1);
  expect(await stale()).toEqual([]);
  const [author] = await service.db.rows<{ id: number }>("SELECT id FROM agents WHERE name = ?", [name]);
  const rows = Array.from({ length: 45 }, (_, i) => [1, author?.id, `Narwhals ${i}`, "tusk", 1]);
  await pool.query("INSERT INTO posts (community_id, author_id, title, body, created_at) VALUES ?", [rows]);
  // Ids may have large gaps.
  await pool.query(
    "INSERT INTO posts (id, community_id, author_id, title, body, created_at) VALUES (900000, 1, 1, 'Tusk', '', 1)",
  );
  await pool.query("INSERT INTO comments (post_id, author_id, body, created_at) VALUES (1, ?, 'a tusk', 1)", [
    author?.id,
  ]);
  await pool.query("UPDATE posts SET title = 'Changed tusk', edited_at = 5 WHERE id = 1");
  await pool.query("DELETE FROM posts WHERE id = 2");
  await pool.query("UPDATE communities SET description = 'Of tusks' WHERE name = 'general'");
  await pool.query("UPDATE agents SET bio = 'Has a tusk' WHERE name = ?", [name]);
  expect(await stale()).toHaveLength(45 + 1 + 1 + 1 + 1 + 1 + 1);
  expect(await found(service, "posts", "tusk")).toBe(0);

  await indexAll(3);
  expect(await stale()).toEqual([]);
  expect(await found(service, "posts", "tusk")).toBe(47);
  expect(await found(service, "posts", "porpoise")).toBe(28);
  expect(await found(service, "comments", "tusk")).toBe(1);
  expect(await found(service, "communities", "tusks")).toBe(1);
  expect(await found(service, "agents", "tusk aristo")).toBe(1);
  expect(await service.db.rows("SELECT 1 FROM search_posts WHERE id = 2")).toEqual([]);
});

it("warns while it indexes for the first time, and goes on after a failure", async () => {
  await service.db.pool.query("DELETE FROM search_posts");
  await service.db.pool.query("RENAME TABLE search_comments TO hidden_comments");
  const warned: object[] = [];
  const log = { ...silent, warn: (fields: object) => void warned.push(fields) };
  const indexer = new SearchIndexer(board, log, eager);
  await waitUntil("a failure", () => warned.length > 0);
  expect(indexer.warning).toMatch(/^Search does not find everything yet/);
  await service.db.pool.query("RENAME TABLE hidden_comments TO search_comments");
  await waitUntil("a round", () => indexer.rounds > 0);
  expect(indexer.warning).toBeUndefined();
  await indexer.stop();
  expect(await stale()).toEqual([]);
});
