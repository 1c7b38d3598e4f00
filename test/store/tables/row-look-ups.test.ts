// The cost of look-ups and of lists about one thing, in rows that the engine reads. test/board/page-costs.test.ts does it for feeds.
import { expect, it } from "vitest";
import { findAgentByName, findKeyHolders } from "../../../src/store/tables/agents.ts";
import {
  findPostWithComments,
  listComments,
  listCommentsByAuthor,
  listReplies,
} from "../../../src/store/tables/comment-lists.ts";
import { findCommunity, listCommunities } from "../../../src/store/tables/communities.ts";
import { findPost, listPostsByAuthor } from "../../../src/store/tables/posts.ts";
import { measure } from "../../support/cost.ts";
import { createDatabaseWithSchema, openStore, type TestDatabase } from "../../support/database.ts";

const size = 10_000;
const agents = 200;
const now = Date.UTC(2026, 5, 1);
/** The post with the comments, of which the first one has replies. The posts beside it have as many. */
const busy = size - 1;

const test = await createDatabaseWithSchema();
const reader = openStore(test, 1).longReader(new AbortController().signal);
await fill(test);

async function fill({ pool }: TestDatabase): Promise<void> {
  const names = Array.from({ length: agents }, (_, i) => [`Agent-${i}`, `agent-${i}`, "", Buffer.alloc(32, i), now]);
  await pool.query("INSERT INTO agents (name, name_key, bio, key_hash, created_at) VALUES ?", [names]);
  const places = [1, 2, 3, 4].map((n) => [`place-${n}`, "Place", "", now]);
  await pool.query("INSERT INTO communities (name, title, description, created_at) VALUES ?", [places]);
  const posts = Array.from({ length: size }, (_, i) => [1 + (i % 5), 1 + (i % agents), `Post ${i}`, "Body", now + i]);
  await pool.query("INSERT INTO posts (community_id, author_id, title, body, created_at) VALUES ?", [posts]);
  for (const post of [busy - 1, busy, busy + 1]) {
    const comments = Array.from({ length: 1_000 }, (_, i) => {
      const score = (i * 7) % 12;
      return [post, post === busy ? 1 : null, 1 + (i % agents), "Comment", score, score, now];
    });
    await pool.query(
      "INSERT INTO comments (post_id, parent_id, author_id, body, upvotes, score, created_at) VALUES ?",
      [comments],
    );
  }
}

const middle = { createdAt: now, id: 1_500 };
const cases: [name: string, most: number, rows: number, run: () => Promise<unknown>][] = [
  ["an agent by name", 2, 1, () => findAgentByName(reader, "agent-77")],
  ["a name that nobody has", 1, 0, () => findAgentByName(reader, "nobody")],
  ["an agent by its key", 2, 1, () => findKeyHolders(reader, [Buffer.alloc(32, 9)])],
  ["a key that nobody has", 2, 0, () => findKeyHolders(reader, [Buffer.alloc(32, 255)])],
  ["a community by name", 2, 1, () => findCommunity(reader, "place-2")],
  // The count of each community is a sum of up to eight rows.
  ["the communities", 20 + 5 * 8, 5, () => listCommunities(reader, "", 1001)],
  ["a post", 3, 1, () => findPost(reader, size / 2)],
  [
    "a post with comments",
    3 + 6 * 50 + 10,
    50,
    async () => (await findPostWithComments(reader, busy, 50, "posts"))?.comments,
  ],
  ["a post without comments", 9, 1, () => findPostWithComments(reader, size / 2, 50, "posts")],
  ["an agent's newest posts", 70, 10, () => listPostsByAuthor(reader, 5, 10)],
  [
    "an agent's posts from the middle",
    70,
    10,
    () => listPostsByAuthor(reader, 5, 10, { createdAt: now + size / 2, id: 1 }),
  ],
  ["an agent's comments from the middle", 4 * 5 + 5, 5, () => listCommentsByAuthor(reader, 5, middle, 5)],
  ["a comment's replies from the middle", 6 * 50 + 10, 50, () => listReplies(reader, 1, middle, 50)],
  ...(["old", "new", "top"] as const).flatMap((sort) =>
    [undefined, { score: 5, ...middle }].map((after): (typeof cases)[number] => [
      `a post's comments by ${sort} ${after === undefined ? "from the start" : "from the middle"}`,
      6 * 50 + 10,
      50,
      async () => (await listComments(reader, busy, { sort, after, limit: 50 }, "posts"))?.comments,
    ]),
  ),
];

it.each(cases)("%s costs at most %i reads", async (_name, most, rows, run) => {
  const { reads, sorted, result } = await measure(reader, run);
  expect(Array.isArray(result) ? result.length : result === undefined ? 0 : 1).toBe(rows);
  expect(reads).toBeLessThanOrEqual(most);
  expect(sorted).toBeLessThanOrEqual(rows);
});
