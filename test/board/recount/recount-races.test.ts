// Recounting and repairing while two replicas write gives no false finding and loses no vote.
import { beforeAll, describe, expect, it } from "vitest";
import { Board } from "../../../src/board/board.ts";
import { describeFinding, recountBoard } from "../../../src/board/recount/recount.ts";
import { Database } from "../../../src/store/database/database.ts";
import { repairRow, tableChecks } from "../../../src/store/recount/tables.ts";
import { someoneWaits } from "../../support/locks.ts";
import { recount } from "../../support/recount.ts";
import { type Service, startService } from "../../support/service.ts";

const never = new AbortController().signal;
let first: Service;
let db: Database;
let board: Board;

beforeAll(async () => {
  first = await startService();
  db = new Database({ address: first.db.config, connections: 4 });
  board = new Board(db, Date.now);
  return () => db.close();
});

it("a recount during writes gives no false finding, and repaired values stay exact", async () => {
  const replicas = [first, await startService({ db: first.db })];
  const agents = await Promise.all(Array.from({ length: 8 }, () => first.register()));
  for (const { key } of agents) await first.rest("posts", { key, body: { title: "A post" } });

  const statuses = new Set<number>();
  let writing = true;
  let repairs = 0;
  const writers = agents.map(async ({ key }, i) => {
    const replica = replicas[i % 2] as (typeof replicas)[number];
    // They go on until some values have been repaired.
    for (let n = 0; n < 8 || repairs < 6; n++) {
      const post = ((i + n * 3) % 7) + 1;
      const replies = await Promise.all([
        replica.rest(`posts/${post === i + 1 ? 8 - i : post}/vote`, { key, body: { vote: (n % 3) - 1 } }),
        replica.rest(`posts/${post}/comments`, { key, body: { body: "Hear, hear" } }),
        ...(n % 4 === 0 ? [replica.rest("posts", { key, body: { title: `Post ${n}` } })] : []),
      ]);
      for (const { status } of replies) statuses.add(status);
    }
  });
  const written = Promise.all(writers).finally(() => {
    writing = false;
  });

  const found: string[] = [];
  const look = async () => {
    for await (const { finding } of recountBoard(db.longReader(never), Date.now, never)) {
      found.push(describeFinding(finding));
    }
  };
  let looks = 0;
  // Nothing is damaged yet, so every finding here is false.
  while (looks < 3) {
    await look();
    looks += 1;
  }
  expect(found).toEqual([]);
  const spoil = [
    "posts SET upvotes = upvotes + 5",
    "communities SET post_count = post_count - 7",
    "agents SET karma = karma - 3",
  ];
  while (writing) {
    await first.db.rows(`UPDATE ${spoil[repairs % 3]} WHERE id = 1`);
    const check = tableChecks.find(({ table }) =>
      spoil[repairs % 3]?.startsWith(table),
    ) as (typeof tableChecks)[number];
    const repaired = await board.write(never, ({ tx, now }) => repairRow(tx, check, 1, now));
    expect(repaired).not.toEqual([]);
    repairs += 1;
  }
  await written;
  expect([...statuses].sort()).toEqual([200, 201]);
  expect(await recount(first.db)).toEqual([]);
  await look();
  expect(found).toEqual([]);
});

describe("a repair", () => {
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
  ])("of %s waits for a running write", async (table, id, statements) => {
    await first.db.rows(`DELETE FROM votes WHERE post_id = 1`);
    await first.db.rows("UPDATE posts SET upvotes = 5, downvotes = 0 WHERE id = 1");
    await first.db.rows("UPDATE communities SET post_count = 5");
    await first.db.rows("UPDATE agents SET karma = 5 WHERE id = 1");

    const writer = await first.db.pool.getConnection();
    await writer.beginTransaction();
    for (const sql of statements) await writer.query(sql);
    const check = tableChecks.find((each) => each.table === table) as (typeof tableChecks)[number];
    const repair = board.write(never, ({ tx, now }) => repairRow(tx, check, id, now));
    await someoneWaits(first.db, table);
    await writer.commit();
    writer.release();
    expect(await repair).toHaveLength(1);
    expect(await check.find(db.reader(never), { after: id - 1, to: id }, Date.now())).toEqual([]);
  });
});
