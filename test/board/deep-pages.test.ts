// The cost of pages at offsets and cursors that the caller chooses.
import { beforeAll, describe, expect, it } from "vitest";
import { encodeCursor } from "../../src/board/cursors.ts";
import { type FeedQuery, listFeed } from "../../src/board/feeds.ts";
import { Database } from "../../src/store/database/database.ts";
import type { Reader } from "../../src/store/database/queryable.ts";
import { migrate } from "../../src/store/schema/migrate.ts";
import { bandEndsMs } from "../../src/store/tables/age-bands.ts";
import { measure } from "../support/cost.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type BarePost, insertPosts, randomNumbers } from "../support/posts.ts";

const size = 12_000;
const day = 86_400_000;
const now = Date.UTC(2026, 5, 1);
let test: TestDatabase;
let db: Database;
let reader: Reader;

beforeAll(async () => {
  test = await createTestDatabase();
  db = new Database({ address: test.config, connections: 1 });
  await migrate(db, { log: () => {} });
  const next = randomNumbers(3);
  const posts: BarePost[] = Array.from({ length: size }, (_, i) => {
    const age = Math.floor((i / size) * 730 * day);
    const band = bandEndsMs.filter((end) => age > end).length;
    return { communityId: 1, upvotes: Math.floor(next() * 50), downvotes: 0, createdAt: now - age, band };
  });
  await insertPosts(test, posts);
  await test.rows("UPDATE communities SET post_count = ?", [size]);
  reader = db.longReader(new AbortController().signal);
  return () => db.close();
});

const feeds: Pick<FeedQuery, "sort" | "window">[] = [
  { sort: "hot", window: "all" },
  { sort: "new", window: "all" },
  { sort: "top", window: "all" },
  { sort: "top", window: "day" },
  { sort: "top", window: "year" },
];
const cases = feeds.flatMap((feed) => [undefined, "general"].map((community) => ({ ...feed, community })));

const page = (feed: (typeof cases)[number], offset: number) =>
  listFeed(reader, { ...feed, offset, limit: 25, cursor: undefined, now });

describe.each(cases)("the feed $sort of $window in $community", (feed) => {
  it.each([size, Number.MAX_SAFE_INTEGER])("reads fewer than 10 rows at the offset %s", async (offset) => {
    const { reads, sorted, result } = await measure(reader, () => page(feed, offset));
    expect(result).toMatchObject({ posts: [], offset, nextOffset: undefined, nextCursor: undefined });
    expect(reads).toBeLessThan(10);
    expect(sorted).toBe(0);
  });
});

it.each(cases.filter(({ window }) => window !== "day"))(
  "a deep page by offset equals the page by cursors: $sort, $window, $community",
  async (feed) => {
    const offset = 1_200;
    const { posts } = await page(feed, offset);
    const all: number[] = [];
    for (let cursor: string | undefined; all.length < offset + 25; ) {
      const from = cursor === undefined ? { offset: 0, cursor: undefined } : { offset: undefined, cursor };
      const next = await listFeed(reader, { ...feed, ...from, limit: 50, now });
      all.push(...next.posts.map(({ id }) => id));
      cursor = next.nextCursor;
    }
    expect(posts.map(({ id }) => id)).toEqual(all.slice(offset, offset + 25));
  },
);

describe("a forged cursor", () => {
  const odd = [0, -1, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER, now];

  it.each(odd)("with the window start %s costs no more than a normal page", async (since) => {
    for (const community of [undefined, "general"]) {
      const query = { sort: "top", window: "year", community, limit: 25, now } as const;
      const forged = (score: number) => {
        const cursor = encodeCursor([
          "top",
          community === undefined ? null : 1,
          "year",
          since,
          0,
          score,
          now,
          size + 1,
        ]);
        return listFeed(reader, { ...query, offset: undefined, cursor });
      };
      for (const score of [49, 0, Number.MAX_SAFE_INTEGER, -Number.MAX_SAFE_INTEGER]) {
        const { reads } = await measure(reader, () => forged(score));
        expect(reads).toBeLessThan(700);
      }
    }
  });

  it.each(odd)("with %s as every value costs no more than a normal page", async (value) => {
    for (const sort of ["hot", "new", "top"] as const) {
      const cursor = encodeCursor([sort, null, "all", null, value, value, value, value]);
      const { reads } = await measure(reader, () =>
        listFeed(reader, { sort, window: "all", community: undefined, limit: 25, offset: undefined, cursor, now }),
      );
      expect(reads).toBeLessThan(300);
    }
  });
});
