// The race tests end with this recount, so it must find damage.
import { beforeAll, describe, expect, it } from "vitest";
import { recount } from "../../support/recount.ts";
import { type Service, startService } from "../../support/service.ts";
import { seedBoard } from "../support.ts";

let service: Service;

beforeAll(async () => {
  service = await startService();
  await seedBoard(service);
});

describe("the recount", () => {
  it("finds nothing wrong in the rows that the service wrote", async () => {
    expect(await recount(service.db)).toEqual([]);
  });

  it.each([
    ["one upvote too many", "UPDATE posts SET upvotes = upvotes + 1 LIMIT 1", "posts.upvotes"],
    ["a lost vote row", "DELETE FROM votes LIMIT 1", "posts.upvotes"],
    ["one comment too many", "UPDATE posts SET comment_count = 3 LIMIT 1", "posts.comment_count"],
    ["one post too few", "UPDATE communities SET post_count = post_count - 1", "communities.post_count"],
    ["one post too many of an agent", "UPDATE agents SET posts = posts + 1 LIMIT 1", "agents.posts"],
    ["too few comments of an agent", "UPDATE agents SET comments = 0 LIMIT 1", "agents.comments"],
    ["wrong karma", "UPDATE agents SET karma = karma + 1 LIMIT 1", "agents.karma sums the votes"],
    ["a vote on the agent's own post", "UPDATE votes SET agent_id = 1 LIMIT 1", "a vote is 1 or -1"],
    ["a wrong score of a comment", "UPDATE comments SET score = 4 WHERE id = 1", "comments.upvotes"],
    ["a lost vote on a comment", "DELETE FROM comment_votes LIMIT 1", "comments.upvotes"],
    ["a lost vote on a comment, in karma", "DELETE FROM comment_votes LIMIT 1", "agents.karma sums the votes"],
    ["a vote on the agent's own comment", "UPDATE comment_votes SET agent_id = 2", "a vote on a comment is 1 or -1"],
    ["a vote of 2", "UPDATE votes SET value = 2 LIMIT 1", "a vote is 1 or -1"],
    ["a reply on another post", "UPDATE comments SET parent_id = 1 WHERE id = 4", "a reply is on its parent's post"],
    ["a comment without an author", "UPDATE comments SET author_id = 999 LIMIT 1", "posts and comments have authors"],
    ["a reserved name", "UPDATE agents SET name = 'Register', name_key = 'register' LIMIT 1", "names are unique"],
  ])("finds %s", async (_damage, sql, rule) => {
    const connection = await service.db.pool.getConnection();
    try {
      await connection.query("START TRANSACTION");
      await connection.query(sql);
      const inTransaction = {
        ...service.db,
        rows: async <Row>(text: string) => (await connection.query(text))[0] as Row[],
      };
      expect((await recount(inTransaction)).map((broken) => broken.rule)).toContainEqual(expect.stringContaining(rule));
    } finally {
      await connection.query("ROLLBACK");
      connection.release();
    }
    expect(await recount(service.db)).toEqual([]);
  });
});
