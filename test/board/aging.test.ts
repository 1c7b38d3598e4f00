// Moving posts to the band of their age while other replicas move posts and agents vote.
import { beforeEach, describe, expect, it, vi } from "vitest";
import { moveAgedPosts } from "../../src/board/aging.ts";
import { Board } from "../../src/board/board.ts";
import { startSweep } from "../../src/board/sweep.ts";
import { bandEndsMs } from "../../src/store/tables/age-bands.ts";
import { createDatabaseWithSchema, openStore, type TestDatabase } from "../support/database.ts";
import { lockPost } from "../support/locks.ts";
import { type BarePost, insertPosts, randomNumbers } from "../support/posts.ts";
import { recount } from "../support/recount.ts";
import { startService } from "../support/service.ts";
import { waitUntil } from "../support/wait.ts";

const hour = 3_600_000;
const day = 24 * hour;
const now = Date.UTC(2026, 5, 1);
const signal = new AbortController().signal;

const test = await createDatabaseWithSchema();
const db = openStore(test, 4);

function postOf(age: number, band: number): BarePost {
  return { communityId: 1, upvotes: 0, downvotes: 0, createdAt: now - age, band };
}

/** Returns posts of random ages up to two years, all in the band of new posts. */
function oldPosts(count: number): BarePost[] {
  const next = randomNumbers(11);
  return Array.from({ length: count }, () => postOf(Math.floor(next() * 730 * day), 0));
}

/** Returns the posts that are not in the band of their age at the time `at`. */
function misplaced({ rows }: TestDatabase, at = now): Promise<object[]> {
  const band = bandEndsMs.map((end) => `(created_at < ${at - end})`).join(" + ");
  return rows(`SELECT id, age_band, ${at} - created_at AS age FROM posts WHERE age_band <> ${band}`);
}

describe("aging posts", () => {
  beforeEach(async () => {
    await test.pool.query("DELETE FROM posts");
  });

  const bandsOf = async () =>
    (await test.rows<{ age_band: number }>("SELECT age_band FROM posts ORDER BY id")).map((row) => row.age_band);

  it("stay in a band up to its exact end, then move directly to the band of their age", async () => {
    const ages = [-hour, 0, ...bandEndsMs.flatMap((end) => [end - 1, end, end + 1]), 5_000 * day];
    await insertPosts(
      test,
      ages.map((age) => postOf(age, 0)),
    );
    expect(await moveAgedPosts(new Board(db, () => now), signal)).toBe(11);
    expect(await bandsOf()).toEqual([0, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4, 4]);
    expect(await moveAgedPosts(new Board(db, () => now), signal)).toBe(0);
    expect(await moveAgedPosts(new Board(db, () => now + 1), signal)).toBe(4);
    expect(await misplaced(test, now + 1)).toEqual([]);
  });

  it("are moved back if a wrong clock moved them on, unless the difference is an hour or less", async () => {
    await insertPosts(test, [postOf(0, 4), postOf(20 * day, 3), postOf(day - hour + 1, 1), postOf(day - hour, 1)]);
    await insertPosts(test, [postOf(day - 1, 1), postOf(7 * day - hour - 1, 2), postOf(-day, 0)]);
    expect(await moveAgedPosts(new Board(db, () => now), signal)).toBe(4);
    expect(await bandsOf()).toEqual([0, 2, 1, 0, 1, 1, 0]);
  });

  it("are skipped while they are locked, and moved the next time", async () => {
    await insertPosts(test, oldPosts(20));
    const all = (await misplaced(test)) as { id: number }[];
    const held = all[3]?.id as number;
    const lock = await lockPost(test, held);
    try {
      expect(await moveAgedPosts(new Board(db, () => now), signal)).toBe(all.length - 1);
      expect(await misplaced(test)).toMatchObject([{ id: held }]);
    } finally {
      await lock.release();
    }
    expect(await moveAgedPosts(new Board(db, () => now), signal)).toBe(1);
    expect(await misplaced(test)).toEqual([]);
  });

  it("are checked repeatedly until the sweep stops, even after a failure of this task or of one before it", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    try {
      await insertPosts(test, oldPosts(10));
      let at = now;
      const warnings: unknown[] = [];
      const board = new Board(db, () => at);
      let failure: Error | undefined = new Error("another task fails");
      const other = async () => {
        if (failure !== undefined) throw failure;
      };
      const aging = startSweep(board, [other, moveAgedPosts], { warn: (fields) => warnings.push(fields) });
      await waitUntil("every post in its band", async () => (await misplaced(test, at)).length === 0);
      await waitUntil("the warning of the other task", () => warnings.length > 0);
      expect(warnings.splice(0)).toEqual([{ err: failure }]);
      failure = undefined;
      at += 400 * day;
      await test.pool.query("RENAME TABLE posts TO posts_away");
      // A tick is skipped while the look before it goes on.
      await waitUntil("a warning", () => {
        vi.advanceTimersByTime(10_000);
        return warnings.length > 0;
      });
      await test.pool.query("RENAME TABLE posts_away TO posts");
      await waitUntil("the next look", async () => {
        vi.advanceTimersByTime(10_000);
        return (await misplaced(test, at)).length === 0;
      });
      await aging.stop();
      at += 400 * day;
      await insertPosts(test, [postOf(0, 0)]);
      vi.advanceTimersByTime(60_000);
      expect(await misplaced(test, at)).not.toEqual([]);
    } finally {
      vi.useRealTimers();
    }
  });
});

it("two services move existing posts after their start while agents vote, and count every vote", async () => {
  const posts = 500;
  // The first one sweeps nothing: the posts are still in the band of new ones when the replicas start.
  const first = await startService({ overrides: { now: () => now } });
  const agents = await Promise.all(Array.from({ length: 5 }, () => first.register()));
  await insertPosts(first.db, oldPosts(posts));
  await first.db.pool.query("UPDATE communities SET post_count = ? WHERE name = 'general'", [posts]);
  await first.db.pool.query("UPDATE agents SET posts = ? WHERE name = 'Author'", [posts]);
  await first.db.pool.query("UPDATE posts SET author_id = (SELECT id FROM agents WHERE name = 'Author')");
  expect((await misplaced(first.db)).length).toBeGreaterThan(posts * 0.9);
  const ids = (await first.db.rows<{ id: number }>("SELECT id FROM posts ORDER BY created_at")).map(({ id }) => id);
  // Two replicas move the posts, oldest first, while agents vote on them.
  const overrides = { now: () => now, sweeps: true };
  const replicas = await Promise.all([1, 2].map(() => startService({ db: first.db, overrides })));
  const statuses = await Promise.all(
    Array.from({ length: 150 }, async (_, i) => {
      const replica = replicas[i % 2] as (typeof replicas)[number];
      const path = `posts/${ids[(i * 7) % 100]}/vote`;
      const vote = [1, -1, 0][(i * 11) % 3];
      return (await replica.rest(path, { key: agents[i % agents.length]?.key, body: { vote } })).status;
    }),
  );
  expect(new Set(statuses)).toEqual(new Set([200]));
  await waitUntil("every post in its band", async () => (await misplaced(first.db)).length === 0);
  expect(await recount(first.db)).toEqual([]);
  for (const { log } of replicas) expect(log.filter(({ level }) => Number(level) >= 40)).toEqual([]);
});
