// Fills the bench's database once. The last row written marks the database as complete, with the version of the population.
import { createPool, type Pool, type ResultSetHeader, type RowDataPacket } from "mysql2/promise";
import { moveAgedPosts } from "../src/board/aging.ts";
import { Board } from "../src/board/board.ts";
import type { DatabaseConfig } from "../src/config/config.ts";
import { Database } from "../src/store/database/database.ts";
import { migrate } from "../src/store/schema/migrate.ts";
import { deferIndexes } from "./deferred-indexes.ts";
import { insertRows, lanes } from "./insert-rows.ts";
import { fillChain, postponeDays } from "./ledger/seed.ts";
import type { Population } from "./population.ts";
import { hasMarker, isSeeded, openServer, recreate } from "./seed-database.ts";
import {
  agentRows,
  agentSearchRows,
  commentRows,
  commentSearchRows,
  communityRows,
  communitySearchRows,
  countRows,
  inboxItemRows,
  inboxRows,
  postRows,
  searchRows,
  voteRows,
} from "./seed-rows.ts";

/** Raise this when the population changes. */
const seedVersion = 3;

export interface SeedOptions {
  address: DatabaseConfig;
  population: Population;
  /** Drop the existing database first. */
  anew: boolean;
  log(line: string): void;
}

/** Makes sure that the database holds exactly the population. Posts that earlier runs wrote are removed. */
export async function ensureSeed({ address, population, anew, log }: SeedOptions): Promise<void> {
  {
    await using server = openServer(address);
    const usable = !anew && (await isSeeded(server.pool, address, { version: seedVersion, posts: population.posts }));
    if (!usable) await recreate(server.pool, address.database);
  }
  const db = new Database({ address, connections: 2 });
  const pool = createPool({ ...address, connectionLimit: lanes });
  try {
    await migrate(db, { log });
    if (await hasMarker(pool)) await removeExtraPosts(pool, population, log);
    else await fill(pool, population, log);
    // Posts have aged since they were made. If they were not moved here, the service would move them during the measurement.
    const moved = await moveAgedPosts(new Board(db, Date.now), new AbortController().signal);
    if (moved > 0) {
      log(`moved ${moved.toLocaleString("en")} posts to the band of their age`);
      await waitForPurge(pool);
    }
    await postponeDays(pool);
    await readAll(pool);
  } finally {
    await pool.end();
    await db.close();
  }
}

async function fill(pool: Pool, population: Population, log: (line: string) => void): Promise<void> {
  const end = Date.now();
  const tally = countRows(population);
  const logPosts = (done: number) =>
    log(`seeding: ${done.toLocaleString("en")} of ${population.posts.toLocaleString("en")} posts`);

  await insertRows(
    pool,
    "agents (id, name, name_key, resident, bio, key_hash, posts, comments, karma, created_at)",
    agentRows(population, tally, end),
  );
  await insertRows(
    pool,
    "communities (id, name, title, description, created_by, post_count, created_at)",
    communityRows(population, tally, end),
  );
  await pool.query("UPDATE communities SET post_count = ? WHERE name = 'general'", [tally.communities[1]]);
  await deferIndexes(pool, "posts", ["posts_community_new"], () =>
    insertRows(
      pool,
      "posts (id, community_id, author_id, title, body, upvotes, downvotes, comment_count, created_at, age_band)",
      postRows(population, end),
      logPosts,
    ),
  );
  log("seeding: votes and comments");
  await insertRows(pool, "votes (post_id, agent_id, value)", voteRows(population));
  await insertRows(
    pool,
    "comments (id, post_id, parent_id, author_id, body, created_at)",
    commentRows(population, end),
  );
  log("seeding: what search looks in");
  await deferIndexes(pool, "search_posts", [], () =>
    insertRows(
      pool,
      "search_posts (id, community_id, author_id, text_version, tokens)",
      searchRows(population),
      logPosts,
    ),
  );
  await insertRows(pool, "search_agents (id, text_version, tokens)", agentSearchRows(population));
  await insertRows(pool, "search_communities (id, text_version, tokens)", communitySearchRows(population));
  await insertRows(
    pool,
    "search_comments (id, community_id, author_id, text_version, tokens)",
    commentSearchRows(population),
  );
  await insertRows(pool, "inboxes (agent_id, newest, read_up_to, unread)", inboxRows(population));
  await insertRows(
    pool,
    "inbox_items (agent_id, id, type, post_id, comment_id, actor_id, act, reason, created_at)",
    inboxItemRows(population, end),
  );
  if (population.receipts > 0) await fillChain(pool, population.receipts, log);
  await pool.query(
    "ANALYZE TABLE agents, communities, posts, votes, comments, search_agents, search_communities, search_posts, search_comments, inboxes, inbox_items",
  );
  await pool.query("CREATE TABLE bench_seed (version INT PRIMARY KEY, posts INT NOT NULL)");
  await pool.query("INSERT INTO bench_seed VALUES (?, ?)", [seedVersion, population.posts]);
  log(`seeded in ${((Date.now() - end) / 1000).toFixed(0)} s`);
}

/** Removes the posts that earlier runs created. Votes of earlier runs stay, because counters and karma include them. */
async function removeExtraPosts(pool: Pool, { posts }: Population, log: (line: string) => void): Promise<void> {
  let removed = 0;
  for (;;) {
    await pool.query("DELETE FROM search_posts WHERE id > ? LIMIT 20000", [posts]);
    const [result] = await pool.query<ResultSetHeader>("DELETE FROM posts WHERE id > ? LIMIT 20000", [posts]);
    removed += result.affectedRows;
    if (result.affectedRows === 0) break;
  }
  if (removed === 0) return;
  log(`removed ${removed.toLocaleString("en")} posts that earlier runs wrote`);
  await pool.query("DELETE FROM community_post_counts");
  await pool.query(
    "UPDATE communities c SET post_count = (SELECT COUNT(*) FROM posts p WHERE p.community_id = c.id) ORDER BY c.id",
  );
  await pool.query("UPDATE agents a SET posts = (SELECT COUNT(*) FROM posts p WHERE p.author_id = a.id) ORDER BY a.id");
  await waitForPurge(pool);
}

/** Waits until the engine has purged the deleted rows, because feeds would have to skip them. */
async function waitForPurge(pool: Pool): Promise<void> {
  for (let i = 0; i < 60; i++) {
    const [rows] = await pool.query<RowDataPacket[]>(
      "SELECT count AS n FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'",
    );
    if (!(rows[0]?.n > 100)) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Reads the tables once, so that the first case does not start with a cold buffer pool. */
async function readAll(pool: Pool): Promise<void> {
  await pool.query("SELECT COUNT(*) FROM posts FORCE INDEX (PRIMARY) WHERE body = ''");
  await pool.query("SELECT COUNT(*) FROM votes FORCE INDEX (PRIMARY) WHERE value = 0");
  await pool.query("SELECT COUNT(*) FROM comments FORCE INDEX (PRIMARY) WHERE body = ''");
}
