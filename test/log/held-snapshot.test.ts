import { expect, it } from "vitest";
import { Import } from "../../src/log/import.ts";
import { OutboxWatch } from "../../src/log/outbox-watch.ts";
import { ItemProofs } from "../../src/log/reading/item-proofs.ts";
import { PublishedTiles } from "../../src/log/reading/published-tiles.ts";
import { entriesOf, startLogReplica } from "../support/log.ts";
import { waitUntil } from "../support/wait.ts";
import { entryText, idsOf, runUntil, SequencedLog, upTo } from "./sequenced-log.ts";

const { signal } = new AbortController();
const minute = 60_000;

/** How many pages the server reads meanwhile, for everybody. */
async function pagesDuring(log: SequencedLog, work: () => Promise<unknown>): Promise<number> {
  const read = async () => {
    const [row] = await log.db.rows<{ Value: string }>("SHOW GLOBAL STATUS LIKE 'Innodb_buffer_pool_read_requests'");
    return Number(row?.Value);
  };
  const before = await read();
  await work();
  return (await read()) - before;
}

it("while a backup holds a snapshot, looks at the outbox do not pass over all that was deleted since", async () => {
  const log = await SequencedLog.begin();
  const { run, db, outbox, publisher } = await startLogReplica(log.db.config, log.key);
  const other = await startLogReplica(log.db.config, log.key);
  await log.db.pool.query(
    `INSERT INTO removed_posts (id, community_id, author_id, title, body, upvotes, downvotes, comment_count, created_at, locked,
       removed_by, removed_at) VALUES (1, 1, 1, 'Gone', '', 0, 0, 0, 5, 0, 'author', 6)`,
  );
  const snapshot = await log.db.pool.getConnection();
  await snapshot.query("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ");
  await snapshot.query("START TRANSACTION WITH CONSISTENT SNAPSHOT");
  // A replica that only looks sees the rows come and go, as the one that sequences does.
  for (let round = 0; round < 12; round++) {
    await log.write(2_000);
    await other.outbox.look(other.db.reader(signal), round);
    await runUntil(run, log.isPublished);
  }
  const reader = db.reader(signal);
  for (const minutes of [1, 2]) {
    await outbox.look(reader, minutes * minute);
    await other.outbox.look(reader, minutes * minute);
  }
  const { published } = publisher;
  const tiles = new PublishedTiles(db, published, signal);
  const proofs = new ItemProofs({ db, published, tiles, outbox, noteCheck: () => {} });
  const looks: Record<string, () => Promise<unknown>> = {
    sequencer: () => log.write(1).then(run),
    "sequencer of another replica": other.run,
    watch: () => outbox.look(reader, 2 * minute + 1),
    proof: () =>
      expect(proofs.ofRemoval("post", 1, { signal, takePlace: () => () => {} })).rejects.toThrow("no removal"),
    // Last, because it adds rows.
    import: async () => {
      await log.db.pool.query("UPDATE log_identity SET imported = 'agent 0'");
      await new Import({ db, outbox, now: Date.now, settledAt: 0 }).run(signal, true);
    },
  };
  // The server may count for other tests, too: the smallest number is the right one.
  const all: number[] = [];
  for (let look = 0; look < 5; look++) all.push(await pagesDuring(log, () => new OutboxWatch().look(reader)));
  const fromTheBeginning = Math.min(...all);
  for (const [name, look] of Object.entries(looks)) {
    await waitUntil(`a short look of the ${name}`, async () => (await pagesDuring(log, look)) < fromTheBeginning / 2);
  }
  await snapshot.rollback();
  snapshot.release();
});

it("a look begins after what was gone over a minute ago, and once a minute at the beginning", async () => {
  const log = await SequencedLog.begin();
  const { run, db, outbox } = await startLogReplica(log.db.config, log.key);
  const reader = db.reader(signal);
  const late = await log.db.pool.getConnection();
  await late.beginTransaction();
  await late.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ('comment', 99, ?)", [entryText(99)]);
  await log.write(10);
  await outbox.look(reader, 0);
  await runUntil(run, log.isPublished);
  await outbox.look(reader, minute);
  expect(outbox.floor).toBe(0);
  await outbox.look(reader, 2 * minute);
  const { floor } = outbox;
  expect(floor).toBeGreaterThan(0);
  await late.commit();
  late.release();
  await outbox.look(reader, 3 * minute - 1);
  expect([outbox.floor, outbox.seconds]).toEqual([floor, 0]);
  await run();
  expect(await log.waiting()).toBe(1);
  await outbox.look(reader, 3 * minute);
  expect(outbox.floor).toBeLessThan(floor);
  await run();
  expect(await log.waiting()).toBe(0);
  expect(idsOf(await entriesOf(log.db))).toEqual([...upTo(10), 99]);
  expect(await log.faults()).toEqual([]);
});
