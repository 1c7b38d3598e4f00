// Top feeds of a time window equal a plain sort of all posts, whatever bands the posts are in and however they move.
import fc from "fast-check";
import { expect, it } from "vitest";
import { moveAgedPosts } from "../../src/board/aging.ts";
import { Board } from "../../src/board/board.ts";
import { listFeed } from "../../src/board/feeds.ts";
import { createDatabaseWithSchema, openStore } from "../support/database.ts";
import { type BarePost, insertCommunities, insertPosts } from "../support/posts.ts";

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const start = Date.UTC(2026, 5, 1);
const signal = new AbortController().signal;
const windows = { day, week: 7 * day, month: 30 * day, year: 365 * day };
type Window = keyof typeof windows;
const communities = ["general", "second", "third"];

const test = await createDatabaseWithSchema();
const db = openStore(test, 2);
const reader = db.longReader(signal);
await insertCommunities(test, communities.slice(1));

/** Replaces all posts. The first one gets the id 1. */
async function replacePosts(posts: BarePost[]): Promise<void> {
  await test.pool.query("DELETE FROM posts");
  await test.pool.query("ALTER TABLE posts AUTO_INCREMENT = 1");
  await insertPosts(test, posts);
}

interface Feed {
  window: Window;
  community: string | undefined;
  limit: number;
}

function page(feed: Feed, now: number, from: { offset?: number; cursor?: string | undefined }) {
  return listFeed(reader, { sort: "top", offset: undefined, cursor: undefined, ...feed, ...from, now });
}

/** Returns the ids of all posts of a feed in its order if the window begins at `since`. */
function inOrder(posts: BarePost[], { community }: Feed, since: number): number[] {
  return posts
    .map((post, index) => ({ ...post, id: index + 1, score: post.upvotes - post.downvotes }))
    .filter(({ communityId }) => community === undefined || communityId === 1 + communities.indexOf(community))
    .filter(({ createdAt }) => createdAt >= since)
    .sort((a, b) => b.score - a.score || b.createdAt - a.createdAt || b.id - a.id)
    .map(({ id }) => id);
}

// Many ages lie at the exact ends of the windows, and many are equal.
const age = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...Object.values(windows)),
      fc.integer({ min: -3, max: 3 }),
      fc.constantFrom(1, minute, hour),
    )
    .map(([end, steps, step]) => end + steps * step),
  fc.integer({ min: -hour, max: 400 * day }),
);
const post = fc.record({
  communityId: fc.integer({ min: 1, max: communities.length }),
  upvotes: fc.nat(4),
  downvotes: fc.nat(4),
  createdAt: age.map((ms) => start - ms),
  band: fc.nat(4),
});
const feed = fc.record({
  window: fc.constantFrom(...(Object.keys(windows) as Window[])),
  community: fc.option(fc.constantFrom(...communities), { nil: undefined }),
  limit: fc.integer({ min: 1, max: 5 }),
});
/** An event between two pages: a replica moves posts by its right or wrong clock, and time moves forward or back. */
const event = fc.record({
  replica: fc.option(fc.constantFrom(0, -minute, hour, 3 * hour, -2 * day, 40 * day, 1000 * day), { nil: undefined }),
  passes: fc.constantFrom(0, 0, 1, minute, 2 * hour, -hour),
});

async function happen({ replica, passes }: { replica: number | undefined; passes: number }, now: number) {
  if (replica !== undefined) await moveAgedPosts(new Board(db, () => now + replica), signal);
  return now + passes;
}

const scenario = fc.record({
  // Enough for several pages: without a least number, hardly any feed has two.
  posts: fc.array(post, { minLength: 40, maxLength: 60 }),
  feed,
  events: fc.infiniteStream(event),
});

it("pages by cursor show each post of the first page's window once, in order, while posts are moved", async () => {
  await fc.assert(
    fc.asyncProperty(scenario, async ({ posts, feed, events }) => {
      await replacePosts(posts);
      let now = await happen(events.next().value, start);
      const expected = inOrder(posts, feed, now - windows[feed.window]);
      const latest = now + day;
      const seen: number[] = [];
      let cursor: string | undefined;
      do {
        const shown = await page(feed, now, { cursor });
        seen.push(...shown.posts.map(({ id }) => id));
        cursor = shown.nextCursor;
        now = Math.min(await happen(events.next().value, now), latest);
      } while (cursor !== undefined);
      expect(seen).toEqual(expected);
    }),
    { numRuns: 20 },
  );
});

it("pages by a cursor older than a day show no post that left the window more than a day ago", async () => {
  const posts = Array.from({ length: 10 }, (_, i) => {
    return { communityId: 1, upvotes: i, downvotes: 0, createdAt: start - i * 2 * hour };
  });
  await replacePosts(posts);
  const feed: Feed = { window: "day", community: undefined, limit: 2 };
  const { nextCursor: cursor, posts: first } = await page(feed, start, {});
  expect(first.map(({ id }) => id)).toEqual([10, 9]);
  const rest = { ...feed, limit: 50 };
  const read = async (now: number) => (await page(rest, now, { cursor })).posts.map(({ id }) => id);
  // Post 8 is the oldest of the remaining posts: 14 hours old at the start.
  expect(await read(start + (48 - 14) * hour)).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
  expect(await read(start + (48 - 14) * hour + 1)).toEqual([7, 6, 5, 4, 3, 2, 1]);
  expect(await read(start + 48 * hour + 1)).toEqual([]);
  expect(await read(start - 100 * day)).toEqual([8, 7, 6, 5, 4, 3, 2, 1]);
});
