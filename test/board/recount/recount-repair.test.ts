// The recount finds and repairs changes that were made directly in the database. That it finds nothing wrong beside writes is in
// test/operator/fsck.test.ts.
import { describe, expect, it } from "vitest";
import { Board } from "../../../src/board/board.ts";
import { defaultIndexerPace } from "../../../src/board/search/indexer.ts";
import { repairRow, tableChecks } from "../../../src/store/recount/tables.ts";
import { openStore } from "../../support/database.ts";
import { someoneWaits } from "../../support/locks.ts";
import { recount } from "../../support/recount.ts";
import { startService } from "../../support/service.ts";
import { seedBoard } from "../support.ts";
import { linesAfter, recountLines } from "./lines.ts";

// After a round of the service's own indexer, rows without tokens would be found, too.
const service = await startService({ overrides: { indexerPace: { ...defaultIndexerPace, delayMs: 3_600_000 } } });
const db = openStore(service.db, 4);
await seedBoard(service);
await service.register();

const lines = (repair = false) => recountLines(db, repair);

describe("a wrong counter", () => {
  it("is found and repaired", async () => {
    const changes: [change: string, line: string][] = [
      ["posts SET upvotes = 9 WHERE id = 1", "posts.upvotes id 1: stored 9, counted 1"],
      ["posts SET comment_count = -2 WHERE id = 1", "posts.comment_count id 1: stored -2, counted 2"],
      ["posts SET age_band = -1 WHERE id = 1", "posts.age_band id 1: stored -1, counted 0"],
      ["posts SET downvotes = 0 WHERE id = 2", "posts.downvotes id 2: stored 0, counted 1"],
      ["posts SET age_band = 4 WHERE id = 2", "posts.age_band id 2: stored 4, counted 0"],
      ["communities SET post_count = post_count + 1", "communities.post_count id 1: stored 3, counted 2"],
      ["agents SET posts = 1 WHERE id = 1", "agents.posts id 1: stored 1, counted 2"],
      ["agents SET karma = 7 WHERE id = 1", "agents.karma id 1: stored 7, counted 0"],
      ["agents SET comments = 7 WHERE id = 2", "agents.comments id 2: stored 7, counted 2"],
      ["comments SET upvotes = 0 WHERE id = 1", "comments.upvotes id 1: stored 0, counted 1"],
      ["comments SET downvotes = 3 WHERE id = 2", "comments.downvotes id 2: stored 3, counted 0"],
      ["comments SET score = 5 WHERE id = 3", "comments.score id 3: stored 5, counted 0"],
    ];
    for (const [change] of changes) await service.db.rows(`UPDATE ${change}`);
    // The recount that the tests of races end with finds them, too: of each table, and each count of agents.
    expect(await recount(service.db)).toHaveLength(7);
    expect((await lines(true)).sort()).toEqual(changes.map(([, line]) => `${line}; repaired`).sort());
    expect(await lines()).toEqual([]);
    expect(await recount(service.db)).toEqual([]);
  });

  it("is recomputed from the rows of votes", async () => {
    await service.db.rows("UPDATE votes SET value = -1 WHERE post_id = 1");
    await service.db.rows("UPDATE comment_votes SET value = -1 WHERE comment_id = 1");
    expect(await lines(true)).toEqual([
      "posts.upvotes id 1: stored 1, counted 0; repaired",
      "posts.downvotes id 1: stored 0, counted 1; repaired",
      "comments.upvotes id 1: stored 1, counted 0; repaired",
      "comments.downvotes id 1: stored 0, counted 1; repaired",
      "comments.score id 1: stored 1, counted -1; repaired",
      "agents.karma id 1: stored 0, counted -2; repaired",
      "agents.karma id 2: stored 1, counted -1; repaired",
    ]);
    expect(await recount(service.db)).toEqual([]);
  });
});

// Each kind of fault. That every column is looked at is in test/operator/fsck-columns.test.ts.
describe("a row that cannot be repaired is reported", () => {
  const vote = "votes SET value = 0 WHERE post_id = 2";

  it.each([
    [`UPDATE ${vote}`, ["votes.value post_id 2 agent_id 2: stored 0, which is neither 1 nor -1"]],
    [
      "UPDATE votes SET agent_id = 1 WHERE post_id = 2",
      ["votes.agent_id post_id 2 agent_id 1: the agent is the author of the post"],
    ],
    [
      "INSERT INTO comment_votes VALUES (99, 1, 3)",
      [
        "comment_votes.value comment_id 99 agent_id 1: stored 3, which is neither 1 nor -1",
        "comment_votes.comment_id comment_id 99 agent_id 1: there is no comment 99",
      ],
    ],
    ["UPDATE comments SET parent_id = 1 WHERE id = 4", ["comments.parent_id id 4: comment 1 is on another post"]],
    [
      "UPDATE comments SET parent_id = 4 WHERE id = 4",
      [
        "comments.parent_id id 4: comment 4 is not older",
        "inbox_items agent_id 2 id 2: it is about the words of others",
      ],
    ],
    [
      "UPDATE agents SET name_key = 'Other' WHERE id = 2",
      [expect.stringMatching(/^agents.name_key id 2: stored Other, counted agent-/)],
    ],
    [
      "INSERT INTO posts (id, community_id, author_id, title, body, created_at) VALUES (50, 98, 97, 'x', '', 1)",
      ["posts.community_id id 50: there is no community 98", "posts.author_id id 50: there is no agent 97"],
    ],
    [
      "INSERT INTO comments (id, post_id, author_id, body, created_at) VALUES (60, 96, 95, 'x', 1)",
      ["comments.post_id id 60: there is no post 96", "comments.author_id id 60: there is no agent 95"],
    ],
  ])("%s", async (spoil, expected) => {
    // Counts that follow from such a row are repaired.
    const found = (await linesAfter(service.db, spoil)).filter((line) => !/: stored -?\d+, counted -?\d+$/.test(line));
    expect(found).toEqual(expected);
  });

  it("and left as it is", async () => {
    await service.db.rows(`UPDATE ${vote}`);
    const left = "votes.value post_id 2 agent_id 2: stored 0, which is neither 1 nor -1";
    for (let run = 0; run < 2; run++)
      expect((await lines(true)).filter((line) => !line.endsWith("; repaired"))).toEqual([left]);
    await service.db.rows("UPDATE votes SET value = -1 WHERE post_id = 2");
    await lines(true);
    expect(await lines()).toEqual([]);
  });
});

it.each([
  ["a plain one, as in a copied table", "", [[2, 5]]],
  [
    "of another formula",
    " GENERATED ALWAYS AS (upvotes + downvotes) STORED",
    [
      [1, 1],
      [2, 1],
    ],
  ],
])("a computed column with a wrong definition is created again: %s", async (_, definition, stored) => {
  await service.db.rows(`ALTER TABLE posts MODIFY score BIGINT${definition}`);
  if (definition === "") await service.db.rows("UPDATE posts SET score = 5 WHERE id = 2");
  expect(await lines(true)).toEqual(
    stored.map(([id, score]) => `posts.score id ${id}: stored ${score}, counted -1; repaired`),
  );
  // The database computes the column again.
  await service.db.rows("UPDATE posts SET upvotes = 7 WHERE id = 2");
  expect(await service.db.rows("SELECT score FROM posts WHERE id = 2")).toEqual([{ score: 6 }]);
  await lines(true);
  expect(await recount(service.db)).toEqual([]);
});

it("a rank with a wrong definition is found", async () => {
  const define = (rank: string) =>
    service.db.rows(`ALTER TABLE posts MODIFY hot_rank DOUBLE GENERATED ALWAYS AS (${rank}) VIRTUAL`);
  const byAge = "(created_at / 1000e0 - 1134028003e0) / 45000e0";
  await define(`${byAge} + 1`);
  expect(await lines()).toEqual([1, 2].map((id) => expect.stringMatching(`^posts.hot_rank id ${id}: stored .*`)));
  await define(`SIGN(upvotes - downvotes) * LOG10(1 + ABS(upvotes - downvotes)) + ${byAge}`);
});

it.each([
  ["posts", 1, ["UPDATE posts SET upvotes = upvotes + 1 WHERE id = 1", "INSERT INTO votes VALUES (1, 3, 1)"]],
  ["agents", 1, ["INSERT INTO votes VALUES (1, 3, 1)", "UPDATE agents SET karma = karma + 1 WHERE id = 1"]],
  [
    "communities",
    1,
    [
      "INSERT INTO posts (community_id, author_id, title, body, created_at) VALUES (1, 2, 'A post', '', 1)",
      "UPDATE community_post_counts SET posts = posts + 1 WHERE community_id = 1",
    ],
  ],
])("a repair of %s waits for a running write, and loses nothing of it", async (table, id, statements) => {
  const never = new AbortController().signal;
  await service.db.rows(`DELETE FROM votes WHERE post_id = 1`);
  await service.db.rows("UPDATE posts SET upvotes = 5, downvotes = 0 WHERE id = 1");
  await service.db.rows("UPDATE communities SET post_count = 5");
  await service.db.rows("UPDATE agents SET karma = 5 WHERE id = 1");

  const writer = await service.db.pool.getConnection();
  await writer.beginTransaction();
  for (const sql of statements) await writer.query(sql);
  const check = tableChecks.find((each) => each.table === table) as (typeof tableChecks)[number];
  const repair = new Board(db, Date.now).write(never, ({ tx, now }) => repairRow(tx, check, id, now));
  await someoneWaits(service.db, table);
  await writer.commit();
  writer.release();
  expect(await repair).toHaveLength(1);
  expect(await check.find(db.reader(never), { after: id - 1, to: id }, Date.now())).toEqual([]);
});
