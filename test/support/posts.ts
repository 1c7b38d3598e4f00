import type { TestDatabase } from "./database.ts";

/** The properties of a post that matter to a test. */
export interface BarePost {
  communityId: number;
  upvotes: number;
  downvotes: number;
  /** Milliseconds since 1970 (UTC). */
  createdAt: number;
  /** The stored age band; new posts have 0. */
  band?: number;
}

/** Inserts posts by one author in their order, many in each statement. In an empty database their ids begin at 1. */
export async function insertPosts({ pool }: TestDatabase, posts: Iterable<BarePost>): Promise<void> {
  const author = ["Author", "author", "", Buffer.alloc(32), 0];
  await pool.query("INSERT IGNORE INTO agents (name, name_key, bio, key_hash, created_at) VALUES (?)", [author]);
  const rows = Array.from(posts, ({ communityId, upvotes, downvotes, createdAt, band }) => {
    return [communityId, 1, "Post", "Body", upvotes, downvotes, createdAt, band ?? 0];
  });
  for (let first = 0; first < rows.length; first += 5_000) {
    await pool.query(
      "INSERT INTO posts (community_id, author_id, title, body, upvotes, downvotes, created_at, age_band) VALUES ?",
      [rows.slice(first, first + 5_000)],
    );
  }
}

/** Creates communities besides `general`, which has the id 1. Their ids are 2, 3, … */
export async function insertCommunities({ pool }: TestDatabase, names: string[]): Promise<void> {
  const rows = names.map((name) => [name, "Place", "", 0]);
  await pool.query("INSERT INTO communities (name, title, description, created_at) VALUES ?", [rows]);
}

/** Random numbers in [0, 1) that are the same in every run. */
export function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
