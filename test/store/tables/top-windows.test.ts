// The cost of top feeds of a time window in rows that the engine reads, for the scores that make it hardest.
import { beforeAll, describe, expect, it } from "vitest";
import { moveAgedPosts } from "../../../src/board/aging.ts";
import { Board } from "../../../src/board/board.ts";
import { Database } from "../../../src/store/database/database.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { migrate } from "../../../src/store/schema/migrate.ts";
import { bandEndsMs } from "../../../src/store/tables/age-bands.ts";
import type { FeedPage, FeedPosition } from "../../../src/store/tables/feeds.ts";
import type { PostRow } from "../../../src/store/tables/posts.ts";
import { listTopSince } from "../../../src/store/tables/top-windows.ts";
import { measure } from "../../support/cost.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { type BarePost, insertCommunities, insertPosts, randomNumbers } from "../../support/posts.ts";

const size = 30_000;
const hour = 3_600_000;
const day = 24 * hour;
const now = Date.UTC(2026, 5, 1);
const spanMs = 730 * day;
const limit = 26; // A page of 25 posts reads one more.
const signal = new AbortController().signal;

const windows = ["day", "week", "month", "year"].map((name, band) => ({
  name,
  band,
  lengthMs: bandEndsMs[band] as number,
}));
const places = [
  { place: "all", communityId: undefined },
  { place: "general", communityId: 1 },
  { place: "a small community", communityId: 2 },
];

/** `upvotes` takes the age of a post in milliseconds and a random number from 0 to 1. */
const distributions: { name: string; upvotes: (age: number, random: number) => number }[] = [
  { name: "are highest for the oldest posts", upvotes: (age) => Math.floor(age / 60_000) },
  {
    name: "are highest just outside each window",
    upvotes(age, random) {
      const justOutside = windows.findIndex(({ lengthMs }) => age > lengthMs && age <= lengthMs * 1.5);
      return Math.floor(random * 1_000) + 1_000 * (1 + justOutside);
    },
  },
];

/**
 * Returns the maximum number of rows read for a page, on a board of any size. Each band within the window contributes the
 * wanted rows twice: once from the index, once for the sort. Each returned row costs six reads, as in every feed. Index
 * descents are extra.
 */
function maxReads(band: number, wanted: number): number {
  return 2 * (band + 1) * (wanted + 1) + 6 * limit + 20;
}

describe.each(distributions)("a page of 30,000 posts whose scores $name", ({ upvotes }) => {
  let test: TestDatabase;
  let db: Database;
  let reader: Queryable;

  beforeAll(async () => {
    test = await createTestDatabase();
    db = new Database({ address: test.config, connections: 1 });
    reader = db.longReader(signal);
    await migrate(db, { log: () => {} });
    const next = randomNumbers(7);
    await insertCommunities(test, ["small"]);
    const posts = Array.from({ length: size }, (_, i): BarePost => {
      const age = Math.floor((1 - i / size) * spanMs);
      const band = bandEndsMs.filter((end) => age > end).length;
      const communityId = next() < 0.95 ? 1 : 2;
      return { communityId, upvotes: upvotes(age, next()), downvotes: 0, createdAt: now - age, band };
    });
    await insertPosts(test, posts);
    expect(await moveAgedPosts(new Board(db, () => now), signal)).toBe(0);
    return () => db.close();
  }, 120_000);

  async function expected(communityId: number | undefined, since: number): Promise<PostRow[]> {
    return test.rows<PostRow>(
      `SELECT id, hot, upvotes, downvotes, created_at FROM posts WHERE (community_id = ? OR ? IS NULL) AND created_at >= ?
       ORDER BY score DESC, created_at DESC, id DESC`,
      [communityId ?? null, communityId ?? null, since],
    );
  }

  async function read(page: Omit<FeedPage, "limit">, window: { band: number; since: number }) {
    const { reads, sorted, result } = await measure(reader, () => listTopSince(reader, { ...page, limit }, window));
    return { reads, sorted, ids: result.map(({ id }) => id) };
  }

  describe.each(windows)("in the window of a $name", ({ band, lengthMs }) => {
    it.each(places)(
      "of $place costs a few reads per post by offset, and the same at any depth by cursor",
      async (place) => {
        const { communityId } = place;
        const window = { band, since: now - lengthMs };
        const posts = await expected(communityId, window.since);
        const ids = posts.map(({ id }) => id);
        for (const offset of [0, 25]) {
          const { reads, sorted, ids: shown } = await read({ communityId, start: { offset } }, window);
          expect(shown).toEqual(ids.slice(offset, offset + limit));
          expect(reads, `page at ${offset}`).toBeLessThanOrEqual(maxReads(band, limit + offset));
          expect(sorted).toBeLessThanOrEqual((band + 1) * (limit + offset) + limit);
        }
        for (const share of [0.1, 0.9]) {
          const offset = Math.ceil(posts.length * share);
          const after = positionOf(posts[offset - 1] as PostRow);
          const { reads, sorted, ids: shown } = await read({ communityId, start: { after } }, window);
          expect(shown).toEqual(ids.slice(offset, offset + limit));
          expect(reads, `page behind ${offset}`).toBeLessThanOrEqual(maxReads(band, limit));
          expect(sorted).toBeLessThanOrEqual((band + 1) * limit + limit);
        }
      },
    );
  });
});

function positionOf(row: PostRow): FeedPosition {
  return { hot: row.hot_rank, score: row.upvotes - row.downvotes, createdAt: row.created_at, id: row.id };
}
