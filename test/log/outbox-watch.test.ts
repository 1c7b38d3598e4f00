// Where looks at the outbox begin. While a backup holds a snapshot, a look at all of it passes over every row that was deleted
// since. No counter of a session tells that on both engines; what a look does not see does.
import { expect, it } from "vitest";
import { Import } from "../../src/log/import.ts";
import { ItemProofs } from "../../src/log/reading/item-proofs.ts";
import { PublishedTiles } from "../../src/log/reading/published-tiles.ts";
import { entriesOf, startLogReplica } from "../support/log.ts";
import { entryText, idsOf, runUntil, SequencedLog, upTo } from "./sequenced-log.ts";

const { signal } = new AbortController();
const minute = 60_000;
/** While the outbox has as many rows, nothing is imported. */
const fullOutbox = 1_024;

it("no look passes over what was gone over a minute ago, whoever has sequenced it", async () => {
  const log = await SequencedLog.begin();
  const { run, db, outbox, publisher } = await startLogReplica(log.db.config, log.key);
  const other = await startLogReplica(log.db.config, log.key);
  const reader = () => db.reader(signal);
  for (const count of [fullOutbox + 1, 1]) {
    await log.write(count);
    // The one sees the rows when it looks, and the other when it sequences them.
    await other.outbox.look(reader(), 0);
    await runUntil(run, log.isPublished);
  }
  for (const each of [outbox, other.outbox]) {
    for (const minutes of [1, 2]) await each.look(reader(), minutes * minute);
    expect(each.floor).toBeGreaterThan(fullOutbox);
  }
  // They stand where deleted rows would.
  await log.db.pool.query("INSERT INTO log_outbox (id, item, item_id, entry) VALUES ?", [
    upTo(fullOutbox).map((id) => [id, "comment", id, entryText(id)]),
  ]);
  await log.db.pool.query(
    `INSERT INTO removed_posts (id, community_id, author_id, title, body, upvotes, downvotes, comment_count, created_at, locked,
       removed_by, removed_at) VALUES (1, 1, 1, 'Gone', '', 0, 0, 0, 5, 0, 'author', 6)`,
  );
  const { published } = publisher;
  const proofs = new ItemProofs({
    db,
    published,
    tiles: new PublishedTiles(db, published, signal),
    outbox,
    noteCheck: () => {},
  });
  await expect(proofs.ofRemoval("post", 1, { signal, takePlace: () => () => {} })).rejects.toThrow("no removal");
  await outbox.look(reader(), 2 * minute + 1);
  expect(outbox.seconds).toBe(0);
  await other.run();
  await log.write(1);
  await run();
  expect(await log.waiting()).toBe(fullOutbox);
  await new Import({ db, outbox, now: Date.now, settledAt: 0 }).run(signal, true);
  expect(await log.db.rows("SELECT imported FROM log_identity")).toEqual([{ imported: "" }]);
  await outbox.look(reader(), 3 * minute);
  await run();
  expect(await log.waiting()).toBe(0);
});

it("a look begins after what was gone over a minute ago, and once a minute at the beginning", async () => {
  const log = await SequencedLog.begin();
  const { run, db, outbox } = await startLogReplica(log.db.config, log.key);
  const reader = () => db.reader(signal);
  const late = await log.db.pool.getConnection();
  await late.beginTransaction();
  await late.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ('comment', 99, ?)", [entryText(99)]);
  await log.write(10);
  await outbox.look(reader(), 0);
  await runUntil(run, log.isPublished);
  await outbox.look(reader(), minute);
  expect(outbox.floor).toBe(0);
  await outbox.look(reader(), 2 * minute);
  const { floor } = outbox;
  expect(floor).toBeGreaterThan(0);
  await late.commit();
  late.release();
  await outbox.look(reader(), 3 * minute - 1);
  expect([outbox.floor, outbox.seconds]).toEqual([floor, 0]);
  await run();
  expect(await log.waiting()).toBe(1);
  await outbox.look(reader(), 3 * minute);
  expect(outbox.floor).toBeLessThan(floor);
  await run();
  expect(await log.waiting()).toBe(0);
  expect(idsOf(await entriesOf(log.db))).toEqual([...upTo(10), 99]);
  expect(await log.faults()).toEqual([]);
});
