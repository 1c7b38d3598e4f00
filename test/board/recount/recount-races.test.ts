// A repair beside writes loses none of them. That a recount beside writes gives no false finding is in test/operator/fsck.test.ts.
import { expect, it } from "vitest";
import { Board } from "../../../src/board/board.ts";
import { repairRow, tableChecks } from "../../../src/store/recount/tables.ts";
import { openStore } from "../../support/database.ts";
import { someoneWaits } from "../../support/locks.ts";
import { startService } from "../../support/service.ts";
import { seedBoard } from "../support.ts";

const never = new AbortController().signal;
const first = await startService();
await seedBoard(first);
await first.register();
const db = openStore(first.db, 4);
const board = new Board(db, Date.now);

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
])("a repair of %s waits for a running write", async (table, id, statements) => {
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
