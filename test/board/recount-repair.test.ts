// What the service itself counts anew, on a database that was changed behind its back.
import { beforeAll, describe, expect, it } from "vitest";
import { Board } from "../../src/board/board.ts";
import { describeFinding, recountBoard } from "../../src/board/recount.ts";
import { Database } from "../../src/store/database.ts";
import { recount } from "../support/recount.ts";
import { type Service, startService } from "../support/service.ts";

const never = new AbortController().signal;
let service: Service;
let db: Database;
let board: Board;

beforeAll(async () => {
  service = await startService();
  db = new Database({ address: service.db.config, connections: 4 });
  board = new Board(db, Date.now);
  const [author, reader] = [await service.register(), await service.register()];
  for (const title of ["First post", "Second post"]) {
    const { body } = await service.rest("posts", { key: author.key, body: { title } });
    const { id } = body.post;
    const comment = await service.rest(`posts/${id}/comments`, { key: reader.key, body: { body: "Comment" } });
    const reply = { body: "Reply", parent_id: comment.body.comment.id };
    await service.rest(`posts/${id}/comments`, { key: author.key, body: reply });
    await service.rest(`posts/${id}/${id === 1 ? "up" : "down"}vote`, { key: reader.key, method: "POST" });
  }
  return () => db.close();
});

async function lines(repair = false): Promise<string[]> {
  const found: string[] = [];
  const outcomes = recountBoard(db.longReader(never), Date.now, never, repair ? board : undefined);
  for await (const { finding, repaired } of outcomes) {
    found.push(`${describeFinding(finding)}${repaired ? "; repaired" : ""}`);
  }
  return found;
}

/** Runs statements without the checks of foreign keys, as a restored dump may have been written. */
async function damage(...statements: string[]): Promise<void> {
  const connection = await service.db.pool.getConnection();
  try {
    await connection.query("SET SESSION foreign_key_checks = 0");
    for (const sql of statements) await connection.query(sql);
  } finally {
    await connection.query("SET SESSION foreign_key_checks = 1");
    connection.release();
  }
}

describe("a counter that is wrong", () => {
  it.each([
    ["posts SET upvotes = 9 WHERE id = 1", ["posts.upvotes id 1: stored 9, counted 1"]],
    ["posts SET downvotes = 0 WHERE id = 2", ["posts.downvotes id 2: stored 0, counted 1"]],
    ["posts SET comment_count = -2 WHERE id = 1", ["posts.comment_count id 1: stored -2, counted 2"]],
    ["posts SET age_band = 4 WHERE id = 2", ["posts.age_band id 2: stored 4, counted 0"]],
    ["posts SET age_band = 77 WHERE id = 2", ["posts.age_band id 2: stored 77, counted 0"]],
    ["posts SET age_band = -1 WHERE id = 2", ["posts.age_band id 2: stored -1, counted 0"]],
    ["communities SET post_count = 3", ["communities.post_count id 1: stored 3, counted 2"]],
    ["agents SET posts = 1 WHERE id = 1", ["agents.posts id 1: stored 1, counted 2"]],
    ["agents SET comments = 7 WHERE id = 2", ["agents.comments id 2: stored 7, counted 2"]],
    ["agents SET karma = 7 WHERE id = 1", ["agents.karma id 1: stored 7, counted 0"]],
    [
      "agents SET karma = 7, posts = 9 WHERE id = 2",
      ["agents.posts id 2: stored 9, counted 0", "agents.karma id 2: stored 7, counted 0"],
    ],
  ])("is found and repaired: %s", async (change, expected) => {
    await service.db.rows(`UPDATE ${change}`);
    expect(await lines()).toEqual(expected);
    expect(await lines(true)).toEqual(expected.map((line) => `${line}; repaired`));
    expect(await lines()).toEqual([]);
    expect(await recount(service.db)).toEqual([]);
  });

  it("follows the rows of votes, which are the truth", async () => {
    await service.db.rows("UPDATE votes SET value = -1 WHERE post_id = 1");
    expect(await lines(true)).toEqual([
      "posts.upvotes id 1: stored 1, counted 0; repaired",
      "posts.downvotes id 1: stored 0, counted 1; repaired",
      "agents.karma id 1: stored 0, counted -2; repaired",
    ]);
    expect(await recount(service.db)).toEqual([]);
  });
});

describe("a row that nothing can be made of is told and left", () => {
  it.each([
    [
      "UPDATE votes SET value = 0 WHERE post_id = 2",
      "UPDATE votes SET value = -1 WHERE post_id = 2",
      ["votes.value post_id 2 agent_id 2: stored 0, which is neither 1 nor -1"],
    ],
    [
      "UPDATE votes SET agent_id = 99 WHERE post_id = 2",
      "UPDATE votes SET agent_id = 2 WHERE post_id = 2",
      ["votes.agent_id post_id 2 agent_id 99: there is no agent 99"],
    ],
    [
      "UPDATE votes SET agent_id = 1 WHERE post_id = 2",
      "UPDATE votes SET agent_id = 2 WHERE post_id = 2",
      ["votes.agent_id post_id 2 agent_id 1: the agent is the author of the post"],
    ],
    [
      "INSERT INTO votes VALUES (99, 1, 1)",
      "DELETE FROM votes WHERE post_id = 99",
      ["votes.post_id post_id 99 agent_id 1: there is no post 99"],
    ],
    [
      "UPDATE comments SET parent_id = 99 WHERE id = 4",
      "UPDATE comments SET parent_id = 3 WHERE id = 4",
      ["comments.parent_id id 4: there is no comment 99"],
    ],
    [
      "UPDATE comments SET parent_id = 1 WHERE id = 4",
      "UPDATE comments SET parent_id = 3 WHERE id = 4",
      ["comments.parent_id id 4: comment 1 is on post 1"],
    ],
    [
      "UPDATE comments SET parent_id = 4 WHERE id = 4",
      "UPDATE comments SET parent_id = 3 WHERE id = 4",
      ["comments.parent_id id 4: comment 4 is not older"],
    ],
    [
      "INSERT INTO agent_limits VALUES (99, 'posts', 1)",
      "DELETE FROM agent_limits",
      ["agent_limits.agent_id agent_id 99 kind posts: there is no agent 99"],
    ],
    [
      "UPDATE communities SET created_by = 99",
      "UPDATE communities SET created_by = NULL",
      ["communities.created_by id 1: there is no agent 99"],
    ],
    [
      "UPDATE agents SET name_key = 'Other' WHERE id = 2",
      "UPDATE agents SET name_key = LOWER(name)",
      [expect.stringMatching(/^agents.name_key id 2: stored Other, counted agent-/)],
    ],
  ])("%s", async (spoil, mend, expected) => {
    await damage(spoil);
    const found = (await lines(true)).filter((line) => !line.endsWith("; repaired"));
    expect(found).toEqual(expected);
    await damage(mend);
    await lines(true);
    expect(await lines()).toEqual([]);
  });

  it("a post or comment without author, post or community", async () => {
    await damage(
      "INSERT INTO posts (id, community_id, author_id, title, body, created_at) VALUES (50, 98, 97, 'x', '', 1)",
      "INSERT INTO comments (id, post_id, author_id, body, created_at) VALUES (60, 96, 95, 'x', 1)",
    );
    expect(await lines()).toEqual([
      "posts.community_id id 50: there is no community 98",
      "posts.author_id id 50: there is no agent 97",
      "comments.post_id id 60: there is no post 96",
      "comments.author_id id 60: there is no agent 95",
    ]);
    await damage("DELETE FROM posts WHERE id = 50", "DELETE FROM comments WHERE id = 60");
    expect(await lines()).toEqual([]);
  });
});

it("a column that the database no longer computes is told", async () => {
  await service.db.rows("ALTER TABLE posts MODIFY score BIGINT NULL, MODIFY hot DOUBLE NULL");
  await service.db.rows("UPDATE posts SET score = 5, hot = NULL WHERE id = 2");
  expect(await lines(true)).toEqual([
    "posts.score id 2: stored 5, counted -1",
    expect.stringMatching(/^posts.hot id 2: stored null, counted \d+/),
  ]);
});
