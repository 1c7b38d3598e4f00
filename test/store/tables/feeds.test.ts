// The cost of feed queries in rows that the engine reads. EXPLAIN differs between the engines; these counters do not.
import { beforeAll, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { migrate } from "../../../src/store/schema/migrate.ts";
import { findAgentByName, findKeyHolders } from "../../../src/store/tables/agents.ts";
import { listComments, listCommentsByAuthor, listReplies } from "../../../src/store/tables/comment-lists.ts";
import { findCommunity, findCommunityId, listCommunities } from "../../../src/store/tables/communities.ts";
import { type FeedPage, type FeedPosition, listFeedPage } from "../../../src/store/tables/feeds.ts";
import { findPost, listPostsByAuthor, type PostRow } from "../../../src/store/tables/posts.ts";
import { type Cost, measure } from "../../support/cost.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { randomNumbers } from "../../support/posts.ts";

const size = 30_000;
const agents = 200;
const day = 86_400_000;
const now = Date.UTC(2026, 5, 1);
const start = now - 730 * day;
const limit = 26; // A page of 25 posts reads one more.
/** The cumulative shares of the communities in the posts; `general` is the largest. */
const upTo = [0.6, 0.8, 0.9, 0.97, 1];

let db: Database;
let reader: Queryable;
let smallId: number;
let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
  db = new Database({ address: test.config, connections: 1 });
  reader = db.longReader(new AbortController().signal);
  await migrate(db, { log: () => {} });
  await fill(test);
  smallId = (await findCommunityId(reader, "place-3")) as number;
  return () => db.close();
}, 120_000);

async function fill({ pool }: TestDatabase): Promise<void> {
  const next = randomNumbers(7);
  const names = Array.from({ length: agents }, (_, i) => [`Agent-${i}`, `agent-${i}`, "", Buffer.alloc(32, i), start]);
  await pool.query("INSERT INTO agents (name, name_key, bio, key_hash, created_at) VALUES ?", [names]);
  const places = upTo.slice(1).map((_, i) => [`place-${i + 1}`, "Place", "", start]);
  await pool.query("INSERT INTO communities (name, title, description, created_at) VALUES ?", [places]);
  for (let first = 0; first < size; first += 5_000) {
    const rows = Array.from({ length: 5_000 }, (_, i) => {
      const share = next();
      const community = 1 + upTo.findIndex((bound) => share < bound);
      // Most posts get a few votes, some get hundreds.
      const upvotes = Math.floor(1 / (1 - next()) ** 1.1) - 1;
      const downvotes = Math.floor(next() * next() * 8);
      const createdAt = start + Math.floor(((first + i) / size) * (now - start));
      return [community, 1 + Math.floor(next() * agents), `Post ${first + i}`, "Body", upvotes, downvotes, createdAt];
    });
    await pool.query(
      "INSERT INTO posts (community_id, author_id, title, body, upvotes, downvotes, created_at) VALUES ?",
      [rows],
    );
  }
}

const orders = {
  hot: "hot_rank DESC, id DESC",
  new: "created_at DESC, id DESC",
  top: "score DESC, created_at DESC, id DESC",
};
type Sort = keyof typeof orders;
const feeds = (["hot", "new", "top"] as const).flatMap((sort) =>
  (["all", "general", "a small community"] as const).map((place) => ({ sort, place })),
);

function communityOf(place: (typeof feeds)[number]["place"]): number | undefined {
  return place === "all" ? undefined : place === "general" ? 1 : smallId;
}

function positionOf(row: PostRow): FeedPosition {
  return { hot: row.hot_rank, score: row.upvotes - row.downvotes, createdAt: row.created_at, id: row.id };
}

/** Returns the position of the last post before the one at `offset`, by a plain query. */
async function positionBefore(sort: Sort, communityId: number | undefined, offset: number): Promise<FeedPosition> {
  const [row] = await reader.rows<PostRow>(
    `SELECT id, hot_rank, upvotes, downvotes, created_at FROM posts WHERE community_id = ? OR ? IS NULL
     ORDER BY ${orders[sort]} LIMIT 1 OFFSET ?`,
    [communityId ?? null, communityId ?? null, String(offset - 1)],
  );
  return positionOf(row as PostRow);
}

async function idsInOrder(sort: Sort, communityId: number | undefined, offset: number): Promise<number[]> {
  const rows = await reader.rows<{ id: number }>(
    `SELECT id FROM posts WHERE community_id = ? OR ? IS NULL
     ORDER BY ${orders[sort]} LIMIT ${limit} OFFSET ${offset}`,
    [communityId ?? null, communityId ?? null],
  );
  return rows.map(({ id }) => id);
}

/**
 * A row costs five reads: the index, the narrow row of the page, the post, its community and its author. MariaDB needs one
 * more to sort the narrow rows. Index descents are extra.
 */
const readsOfPage = 6 * limit + 5;
/** The author and community of the previous post are not read again, so the cost varies a little from page to page. */
const variation = 10;

describe("a page of 30,000 posts", () => {
  it.each(feeds)(
    "by $sort of $place costs a few reads per post on pages 1 and 2 by offset",
    async ({ sort, place }) => {
      const communityId = communityOf(place);
      for (const offset of [0, 25]) {
        const page: FeedPage = { communityId, start: { offset }, limit };
        const { reads, sorted, result } = await measure(reader, () => listFeedPage(reader, sort, page));
        expect(result.map(({ id }) => id)).toEqual(await idsInOrder(sort, communityId, offset));
        expect(reads, `page at ${offset}`).toBeLessThanOrEqual(readsOfPage + offset);
        expect(sorted).toBeLessThanOrEqual(limit);
      }
    },
  );

  it.each(feeds)("by $sort of $place costs the same on page 400 as on page 2 by cursor", async ({ sort, place }) => {
    const communityId = communityOf(place);
    const deepest = (place === "a small community" ? 20 : 400) * 25;
    const costs: Cost[] = [];
    for (const offset of [25, deepest]) {
      const page: FeedPage = {
        communityId,
        start: { after: await positionBefore(sort, communityId, offset) },
        limit,
      };
      const { reads, sorted, result } = await measure(reader, () => listFeedPage(reader, sort, page));
      expect(result.map(({ id }) => id)).toEqual(await idsInOrder(sort, communityId, offset));
      costs.push({ reads, sorted });
    }
    const [second, deep] = costs as [Cost, Cost];
    expect(second.reads).toBeLessThanOrEqual(readsOfPage);
    expect(deep.reads).toBeLessThanOrEqual(second.reads + variation);
    expect(deep.sorted).toBeLessThanOrEqual(limit);
  });
});

describe("a lookup among 30,000 posts", () => {
  const lookups: { name: string; max: number; rows: number; run: () => Promise<unknown> }[] = [
    { name: "an agent by name", max: 2, rows: 1, run: () => findAgentByName(reader, "agent-77") },
    { name: "a name that nobody has", max: 1, rows: 0, run: () => findAgentByName(reader, "nobody") },
    { name: "an agent by its key", max: 2, rows: 1, run: () => findKeyHolders(reader, [Buffer.alloc(32, 9)]) },
    { name: "a key that nobody has", max: 2, rows: 0, run: () => findKeyHolders(reader, [Buffer.alloc(32, 255)]) },
    { name: "a community by name", max: 2, rows: 1, run: () => findCommunity(reader, "place-2") },
    // The count of each community is a sum of up to eight rows.
    { name: "the communities", max: 20 + 5 * 8, rows: 5, run: () => listCommunities(reader, "", 1001) },
    { name: "a post", max: 3, rows: 1, run: () => findPost(reader, 15_000) },
    { name: "an agent's newest posts", max: 70, rows: 10, run: () => listPostsByAuthor(reader, 5, 10) },
    {
      name: "an agent's posts from the middle",
      max: 70,
      rows: 10,
      run: () => listPostsByAuthor(reader, 5, 10, { createdAt: start + 365 * day, id: 15_000 }),
    },
    {
      name: "an agent's comments from the middle",
      max: 4 * 5 + 5,
      rows: 5,
      run: () => listCommentsByAuthor(reader, 5, { createdAt: now, id: 1_500 }, 5),
    },
    {
      name: "a comment's replies from the middle",
      max: 6 * 50 + 10,
      rows: 50,
      run: () => listReplies(reader, 1, { createdAt: now, id: 1_500 }, 50),
    },
    ...(["old", "new", "top"] as const).flatMap((sort) =>
      [undefined, { score: 5, createdAt: now, id: 1_500 }].map((after) => ({
        name: `a post's comments by ${sort} ${after === undefined ? "from the start" : "from the middle"}`,
        max: 6 * 50 + 10,
        rows: 50,
        run: async () => (await listComments(reader, 20_000, { sort, after, limit: 50 }))?.comments,
      })),
    ),
  ];

  beforeAll(async () => {
    for (const post of [19_999, 20_000, 20_001]) {
      const comments = Array.from({ length: 1_000 }, (_, i) => {
        const score = (i * 7) % 12;
        return [post, post === 20_000 ? 1 : null, 1 + (i % agents), "Comment", score, score, now];
      });
      await test.pool.query(
        "INSERT INTO comments (post_id, parent_id, author_id, body, upvotes, score, created_at) VALUES ?",
        [comments],
      );
    }
  });

  it.each(lookups)("of $name costs at most $max reads", async ({ max, rows, run }) => {
    const { reads, sorted, result } = await measure(reader, run);
    expect(Array.isArray(result) ? result.length : result === undefined ? 0 : 1).toBe(rows);
    expect(reads).toBeLessThanOrEqual(max);
    expect(sorted).toBeLessThanOrEqual(rows);
  });
});
