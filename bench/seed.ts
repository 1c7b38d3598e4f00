// Fills the bench's database, once. A marker row, written last, says that it is complete and by which version of this file.
import { createHash } from "node:crypto";
import { createPool, type Pool, type ResultSetHeader, type RowDataPacket } from "mysql2/promise";
import { moveAgedPosts } from "../src/board/aging.ts";
import { Board } from "../src/board/board.ts";
import type { DatabaseConfig } from "../src/config/config.ts";
import { Database } from "../src/store/database/database.ts";
import { migrate } from "../src/store/schema/migrate.ts";
import { schemaState } from "../src/store/schema/migration-records.ts";
import { bandEndsMs } from "../src/store/tables/age-bands.ts";
import {
  agentName,
  communityName,
  discussedPost,
  keyOf,
  noise,
  type Population,
  postOf,
  residentOf,
  type SeededPost,
  textOf,
  votersOf,
} from "./population.ts";

/** To be raised when the population changes. */
const seedVersion = 1;
const spanMs = 2 * 365 * 86_400_000;
const rowsAStatement = 2_000;
/** Statements that run at once: one is made here while the server works on the other. */
const lanes = 2;

export interface SeedOptions {
  address: DatabaseConfig;
  population: Population;
  /** Drop what is there. */
  anew: boolean;
  log(line: string): void;
}

/** Makes sure that the database holds the population, and nothing that earlier runs wrote on top of it. */
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
    if (await hasMarker(pool)) await tidy(pool, population, log);
    else await fill(pool, population, log);
    // What the service would do while it is measured: posts have grown older since they were made.
    const moved = await moveAgedPosts(new Board(db, Date.now), new AbortController().signal);
    if (moved > 0) {
      log(`moved ${moved.toLocaleString("en")} posts to the band of their age`);
      await purged(pool);
    }
    await readAll(pool);
  } finally {
    await pool.end();
    await db.close();
  }
}

/** A connection to the server that needs no database. */
export function openServer(address: DatabaseConfig): AsyncDisposable & { pool: Pool } {
  const pool = createPool({ ...address, database: undefined as never, connectionLimit: 1 });
  return { pool, [Symbol.asyncDispose]: () => pool.end() };
}

/** Whether the database was filled completely, with so many posts or receipts, and its schema can be brought up to date. */
export async function isSeeded(
  admin: Pool,
  address: DatabaseConfig,
  wanted: { version: number; posts: number },
): Promise<boolean> {
  const marker = `\`${address.database}\`.bench_seed`;
  if (!(await tables(admin, address.database)).includes("bench_seed")) return false;
  const [rows] = await admin.query<RowDataPacket[]>(`SELECT version, posts FROM ${marker}`);
  if (rows[0]?.version !== wanted.version || rows[0].posts !== wanted.posts) return false;
  const db = new Database({ address, connections: 1 });
  const { kind } = await schemaState(db).finally(() => db.close());
  return kind !== "other";
}

/** Makes an empty database in place of the one that was there, marked as the bench's own. */
export async function recreate(admin: Pool, database: string): Promise<void> {
  await refuseForeign(admin, database);
  await admin.query(`DROP DATABASE IF EXISTS \`${database}\``);
  await admin.query(`CREATE DATABASE \`${database}\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin`);
  await admin.query(`CREATE TABLE \`${database}\`.bench_begun (id INT PRIMARY KEY)`);
}

/** Only a database of the bench's own is ever dropped. */
async function refuseForeign(admin: Pool, database: string): Promise<void> {
  const present = await tables(admin, database);
  if (present.length > 0 && !present.includes("bench_seed") && !present.includes("bench_begun")) {
    throw new Error(`The database ${database} holds something else than a bench; name an empty one.`);
  }
}

async function tables(admin: Pool, database: string): Promise<string[]> {
  const [rows] = await admin.query<RowDataPacket[]>(
    "SELECT table_name AS name FROM information_schema.tables WHERE table_schema = ?",
    [database],
  );
  return rows.map((row) => row.name);
}

async function hasMarker(pool: Pool): Promise<boolean> {
  const [rows] = await pool.query<RowDataPacket[]>(
    "SELECT 1 FROM information_schema.tables WHERE table_schema = DATABASE() AND table_name = 'bench_seed'",
  );
  return rows.length > 0;
}

async function fill(pool: Pool, population: Population, log: (line: string) => void): Promise<void> {
  const started = Date.now();
  const end = started;
  const tally = countUp(population);
  const agentKarma = (agent: number) => `${tally.posts[agent]}, ${tally.comments[agent]}, ${tally.karma[agent]}`;

  await insert(pool, "agents", "id, name, name_key, resident, bio, key_hash, posts, comments, karma, created_at", () =>
    numbers(population.agents, (id) => {
      const hash = createHash("sha256").update(keyOf(id)).digest("hex");
      return `(${id}, '${agentName(id)}', '${agentName(id)}', ${residentOf(id)}, '', x'${hash}', ${agentKarma(id)}, ${end - spanMs})`;
    }),
  );
  await insert(pool, "communities", "id, name, title, description, created_by, post_count, created_at", () =>
    numbers(population.communities - 1, (index) => {
      const id = index + 1;
      return `(${id}, '${communityName(id)}', 'Bench ${id}', '${textOf(id, 80)}', 1, ${tally.communities[id]}, ${end - spanMs})`;
    }),
  );
  await pool.query("UPDATE communities SET post_count = ? WHERE name = 'general'", [tally.communities[1]]);

  await insert(
    pool,
    "posts",
    "id, community_id, author_id, title, body, upvotes, downvotes, comment_count, created_at, age_band",
    () =>
      numbers(population.posts, (id) => {
        const post = postOf(id, population);
        const age = end - createdAt(post, end);
        const band = bandEndsMs.filter((bandEnd) => age > bandEnd).length;
        const values = `${post.upvotes}, ${post.downvotes}, ${post.comments}, ${end - age}, ${band}`;
        return `(${id}, ${post.communityId}, ${post.authorId}, '${post.title}', '${post.body}', ${values})`;
      }),
    (done) => log(`seeding: ${done.toLocaleString("en")} of ${population.posts.toLocaleString("en")} posts`),
  );
  await insert(pool, "votes", "post_id, agent_id, value", () => voteRows(population));
  await insert(pool, "comments", "id, post_id, parent_id, author_id, body, created_at", () =>
    commentRows(population, end),
  );
  await pool.query("ANALYZE TABLE agents, communities, posts, votes, comments");
  await pool.query("CREATE TABLE bench_seed (version INT PRIMARY KEY, posts INT NOT NULL)");
  await pool.query("INSERT INTO bench_seed VALUES (?, ?)", [seedVersion, population.posts]);
  log(`seeded in ${((Date.now() - started) / 1000).toFixed(0)} s`);
}

function createdAt({ age }: SeededPost, end: number): number {
  return Math.floor(end - spanMs + age * spanMs);
}

/** The counters that the rows to come add up to. */
function countUp(population: Population) {
  const posts = new Int32Array(population.agents + 1);
  const comments = new Int32Array(population.agents + 1);
  const karma = new Int32Array(population.agents + 1);
  const communities = new Int32Array(population.communities + 1);
  for (let id = 1; id <= population.posts; id++) {
    const { authorId, communityId, upvotes, downvotes } = postOf(id, population);
    posts[authorId] = (posts[authorId] as number) + 1;
    karma[authorId] = (karma[authorId] as number) + upvotes - downvotes;
    communities[communityId] = (communities[communityId] as number) + 1;
  }
  for (let id = 1; id <= population.discussed * population.commentsEach; id++) {
    const author = commenter(id, population);
    comments[author] = (comments[author] as number) + 1;
  }
  return { posts, comments, karma, communities };
}

function* numbers(count: number, row: (id: number) => string): Generator<string> {
  for (let id = 1; id <= count; id++) yield row(id);
}

function* voteRows(population: Population): Generator<string> {
  for (let id = 1; id <= population.posts; id++) {
    const post = postOf(id, population);
    const voters = votersOf(post, population);
    for (const [index, agent] of voters.entries()) yield `(${id}, ${agent}, ${index < post.upvotes ? 1 : -1})`;
  }
}

function* commentRows(population: Population, end: number): Generator<string> {
  const each = population.commentsEach;
  for (let index = 0; index < population.discussed; index++) {
    const post = postOf(discussedPost(index, population), population);
    for (let n = 0; n < each; n++) {
      const id = index * each + n + 1;
      // Every third comment replies to the first one.
      const parent = n % 3 === 2 ? index * each + 1 : null;
      const time = createdAt(post, end) + n;
      yield `(${id}, ${post.id}, ${parent}, ${commenter(id, population)}, '${textOf(id, 200)}', ${time})`;
    }
  }
}

function commenter(id: number, { agents }: Population): number {
  return 1 + Math.floor(noise(id, 9) * agents);
}

/** Inserts rows by statements of many, a few at once; `progress` is told now and then how many are stored. */
async function insert(
  pool: Pool,
  table: string,
  columns: string,
  rows: () => Generator<string>,
  progress?: (done: number) => void,
): Promise<void> {
  const source = rows();
  let done = 0;
  let told = Date.now();
  const lane = async () => {
    for (;;) {
      const batch = take(source, rowsAStatement);
      if (batch.length === 0) return;
      await pool.query(`INSERT INTO ${table} (${columns}) VALUES ${batch.join(",")}`);
      done += batch.length;
      if (Date.now() - told > 5_000) {
        told = Date.now();
        progress?.(done);
      }
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}

/** The next values; unlike the iterator's own `take`, it leaves the source open. */
function take(source: Generator<string>, count: number): string[] {
  const taken: string[] = [];
  while (taken.length < count) {
    const { done, value } = source.next();
    if (done) break;
    taken.push(value);
  }
  return taken;
}

/** Removes the posts that earlier runs created. Their votes stay: counters and karma agree with them. */
async function tidy(pool: Pool, { posts }: Population, log: (line: string) => void): Promise<void> {
  let removed = 0;
  for (;;) {
    const [result] = await pool.query<ResultSetHeader>("DELETE FROM posts WHERE id > ? LIMIT 20000", [posts]);
    removed += result.affectedRows;
    if (result.affectedRows === 0) break;
  }
  if (removed === 0) return;
  log(`removed ${removed.toLocaleString("en")} posts of earlier runs`);
  await pool.query(
    "UPDATE communities c SET post_count = (SELECT COUNT(*) FROM posts p WHERE p.community_id = c.id) ORDER BY c.id",
  );
  await pool.query("UPDATE agents a SET posts = (SELECT COUNT(*) FROM posts p WHERE p.author_id = a.id) ORDER BY a.id");
  await purged(pool);
}

/** Waits until the engine has swept out the deleted rows: feeds would have to step over them. */
async function purged(pool: Pool): Promise<void> {
  for (let i = 0; i < 60; i++) {
    const [rows] = await pool.query<RowDataPacket[]>(
      "SELECT count AS n FROM information_schema.innodb_metrics WHERE name = 'trx_rseg_history_len'",
    );
    if (!(rows[0]?.n > 100)) return;
    await new Promise((resolve) => setTimeout(resolve, 500));
  }
}

/** Reads the tables through, so that the first case does not pay for a cold buffer pool. */
async function readAll(pool: Pool): Promise<void> {
  await pool.query("SELECT COUNT(*) FROM posts FORCE INDEX (PRIMARY) WHERE body = ''");
  await pool.query("SELECT COUNT(*) FROM votes FORCE INDEX (PRIMARY) WHERE value = 0");
}
