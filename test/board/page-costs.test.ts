// The cost of pages of feeds, also at offsets and cursors that the caller chooses, in rows that the engine reads. EXPLAIN differs
// between the engines; these counters do not.
import { describe, expect, it } from "vitest";
import { encodeCursor } from "../../src/board/cursors.ts";
import { type FeedQuery, listFeed } from "../../src/board/feeds.ts";
import { bandEndsMs } from "../../src/store/tables/age-bands.ts";
import { measure } from "../support/cost.ts";
import { createDatabaseWithSchema, openStore } from "../support/database.ts";
import { type BarePost, insertCommunities, insertPosts, randomNumbers } from "../support/posts.ts";

const size = 8_000;
const limit = 25;
const day = 86_400_000;
const now = Date.UTC(2026, 5, 1);
const bandOf = (age: number) => bandEndsMs.filter((end) => age > end).length;

const test = await createDatabaseWithSchema();
await insertCommunities(test, ["small"]);
const next = randomNumbers(7);
/** Two years of posts, most of them in `general`. The best ones are just outside each window, where a search by score begins. */
const posts: BarePost[] = Array.from({ length: size }, (_, i) => {
  const age = Math.floor((1 - i / size) * 730 * day);
  const justOutside = bandEndsMs.findIndex((end) => age > end && age <= end * 1.5);
  const upvotes = Math.floor(next() * 1_000) + 1_000 * (1 + justOutside);
  return { communityId: next() < 0.9 ? 1 : 2, upvotes, downvotes: 0, createdAt: now - age, band: bandOf(age) };
});
await insertPosts(test, posts);
await test.rows("UPDATE communities SET post_count = (SELECT COUNT(*) FROM posts WHERE community_id = communities.id)");
const reader = openStore(test, 1).longReader(new AbortController().signal);

const feeds: Pick<FeedQuery, "sort" | "window">[] = [
  { sort: "hot", window: "all" },
  { sort: "new", window: "all" },
  { sort: "top", window: "all" },
  { sort: "top", window: "day" },
  { sort: "top", window: "month" },
  { sort: "top", window: "year" },
];
const cases = feeds.flatMap((feed) => [undefined, "general", "small"].map((community) => ({ ...feed, community })));
const bands = { day: 0, week: 1, month: 2, year: 3 };
const orders = { hot: "hot_rank", new: "created_at", top: "score DESC, created_at" };

/** All ids of a feed in its order, by a plain query. */
async function allOf({ sort, window, community }: (typeof cases)[number]): Promise<number[]> {
  const since = window === "all" ? 0 : now - (bandEndsMs[bands[window]] as number);
  const rows = await test.rows<{ id: number }>(
    `SELECT id FROM posts WHERE created_at >= ${since}
       AND community_id IN (SELECT id FROM communities WHERE name LIKE '${community ?? "%"}')
     ORDER BY ${orders[sort]} DESC, id DESC`,
  );
  return rows.map(({ id }) => id);
}

/**
 * The most reads for a page, on a board of any size. A post costs six: the index, the narrow row of the page, the post, its
 * community, its author and the sort. Each band of a window gives its part of the page twice: from the index, and to the sort.
 */
function mostReads({ window }: (typeof cases)[number], offset: number): number {
  const page = 6 * (limit + 1) + 20;
  return window === "all" ? page + offset : page + 2 * (bands[window] + 1) * (limit + offset + 2);
}

describe.each(cases)("the feed $sort of $window in $community", (feed) => {
  const page = (from: { offset?: number; cursor?: string | undefined }) =>
    listFeed(reader, { ...feed, offset: undefined, cursor: undefined, ...from, limit, now });

  it("costs a few reads for each post of its first pages, and no more at any depth by cursor", async () => {
    const ids = await allOf(feed);
    const deep = Math.max(0, Math.floor(ids.length * 0.9) - limit);
    const { nextCursor: cursor } = await page({ offset: deep });
    for (const [from, at, skipped] of [
      [{ offset: 0 }, 0, 0],
      [{ offset: limit }, limit, limit],
      ...(cursor === undefined ? [] : ([[{ cursor }, deep + limit, 0]] as const)),
    ] as const) {
      const { reads, sorted, result } = await measure(reader, () => page(from));
      expect(result.posts.map(({ id }) => id)).toEqual(ids.slice(at, at + limit));
      expect(reads, JSON.stringify(from)).toBeLessThanOrEqual(mostReads(feed, skipped));
      expect(sorted).toBeLessThanOrEqual(mostReads(feed, skipped) / 2);
    }
  });

  it.each([size, Number.MAX_SAFE_INTEGER])("reads fewer than 10 rows at the offset %s", async (offset) => {
    const { reads, sorted, result } = await measure(reader, () => page({ offset }));
    expect(result).toMatchObject({ posts: [], offset, nextOffset: undefined, nextCursor: undefined });
    expect(reads).toBeLessThan(10);
    expect(sorted).toBe(0);
  });
});

it("a forged cursor costs no more than a normal page, whatever its window's start, score or other values are", async () => {
  const odd = [0, -1, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, now];
  const costOf = async (
    query: Pick<FeedQuery, "sort" | "window" | "community">,
    values: (string | number | null)[],
  ) => {
    const cursor = encodeCursor([query.sort, query.community === undefined ? null : 1, query.window, ...values]);
    return (await measure(reader, () => listFeed(reader, { ...query, cursor, offset: undefined, limit, now }))).reads;
  };
  for (const value of odd) {
    for (const community of [undefined, "general"]) {
      for (const score of [4_999, ...odd]) {
        const values = [value, 0, score, now, size + 1];
        expect(await costOf({ sort: "top", window: "year", community }, values)).toBeLessThan(700);
      }
    }
    for (const sort of ["hot", "new", "top"] as const) {
      const values = [null, value, value, value, value];
      expect(await costOf({ sort, window: "all", community: undefined }, values)).toBeLessThan(300);
    }
  }
});
