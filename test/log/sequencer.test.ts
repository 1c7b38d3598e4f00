import { beforeEach, describe, expect, it } from "vitest";
import { operate } from "../operator/support.ts";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { entriesOf, startLogReplica } from "../support/log.ts";
import { entryText, idsOf, runUntil, SequencedLog, upTo } from "./sequenced-log.ts";

let log: SequencedLog;
beforeEach(async () => {
  log = await SequencedLog.begin();
});

it("gives entries their indexes in the order of their ids, through every size around the end of a tile", async () => {
  const { run, publisher } = await startLogReplica(log.db.config, log.key);
  await log.write(1);
  await runUntil(run, log.isPublished);
  for (const more of [251, 1, 1, 1, 1, 1, 256]) {
    const { size } = await log.head();
    await log.write(more);
    await run();
    expect(await log.head()).toEqual({ size: size + more, signed: size + more });
  }
  expect(publisher.tree?.size).toBe(514);
  expect(idsOf(await entriesOf(log.db))).toEqual(upTo(513));
  expect(await log.faults()).toEqual([]);
});

it("acts and receipts follow the outbox, each once, and those from before the log are imported", async () => {
  const { run } = await startLogReplica(log.db.config, log.key);
  await log.db.pool.query(
    `INSERT INTO moderations (id, role, act, item, item_id, reason, created_at) VALUES
       (1, 'operator', 'remove', 'comment', 1, 'spam', -5), (2, 'operator', 'restore', 'comment', 1, NULL, 7),
       (4, 'operator', 'remove', 'comment', 2, 'spam', 9)`,
  );
  const receipt = (seq: number, hash: string, end = `"ts":"2026-01-31T00:00:04.120Z","v":1}`) => [
    seq, hash.repeat(64), `${seq}`.repeat(64), `{"seq":${seq},${end}`,
  ]; // biome-ignore format: one row
  await log.db.pool.query("INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES ?", [
    [receipt(1, "a"), receipt(2, "b"), receipt(3, "c", "damaged")],
  ]);
  await log.write(1);
  await runUntil(run, log.isPublished);
  await log.write(1);
  await run();
  expect((await entriesOf(log.db)).slice(1)).toEqual([
    expect.objectContaining({ type: "edit", id: 1 }),
    { type: "act", id: 1, act: "remove", item: "comment", item_id: 1, reason: "spam", role: "operator", ts: "1969-12-31T23:59:59.995Z", imported: true, v: 1 },
    { type: "act", id: 2, act: "restore", item: "comment", item_id: 1, reason: null, role: "operator", ts: "1970-01-01T00:00:00.007Z", v: 1 },
    { type: "receipt", seq: 1, hash: "a".repeat(64), ts: "2026-01-31T00:00:04.120Z", v: 1 },
    { type: "receipt", seq: 2, hash: "b".repeat(64), ts: "2026-01-31T00:00:04.120Z", v: 1 },
    expect.objectContaining({ type: "edit", id: 2 }),
  ]); // biome-ignore format: one entry a line
  expect(await log.faults()).toEqual([]);
});

it("a damaged act and a receipt without a hash wait for their repair, and nothing else does", async () => {
  const { run } = await startLogReplica(log.db.config, log.key);
  await log.db.pool.query(
    `INSERT INTO moderations (id, role, act, item, item_id, reason, created_at) VALUES
       (1, 'operator', 'lock', 'post', 1, 'spam', 5), (2, 'operator', 'unlock', 'post', 1, 'no word!', 7)`,
  );
  const canonical = '{"seq":1,"ts":"2026-01-31T00:00:04.120Z","v":1}';
  await log.db.pool.query("INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES ?", [
    [[1, "a".repeat(64), "0", canonical], [2, "none", "1", canonical]],
  ]); // biome-ignore format: one row each
  await log.db.pool.query("DROP TRIGGER moderations_are_not_updated");
  await log.write(2);
  await runUntil(run, log.isPublished);
  const types = async () => (await entriesOf(log.db)).map(({ type }) => type);
  const dates = ["9007199254740991", "9223372036854775807"];
  for (const damage of ["reason = 'no word!'", ...dates.map((date) => `reason = NULL, created_at = ${date}`)]) {
    await log.db.pool.query(`UPDATE moderations SET ${damage} WHERE id = 2`);
    await run();
    expect(await types()).toEqual(["log", "edit", "edit", "act", "receipt"]);
    const { out } = await operate(log.db.config, ["fsck"]);
    expect(out).toContainEqual(expect.stringMatching(/^moderations\.(?:reason|created_at) id 2: /));
  }
  await log.db.pool.query("UPDATE moderations SET created_at = 7 WHERE id = 2");
  await run();
  expect((await types()).slice(4)).toEqual(["receipt", "act"]);
});

it("a late commit with a lower id comes next, and nobody waits for it", async () => {
  const { run } = await startLogReplica(log.db.config, log.key);
  const late = await log.db.pool.getConnection();
  await late.beginTransaction();
  await late.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ('comment', 99, ?)", [entryText(2_000)]);
  await log.write(2);
  await runUntil(run, log.isPublished);
  expect(idsOf(await entriesOf(log.db))).toEqual([1, 2]);
  // A scan of the whole table would be cheaper for the server, and wait.
  await log.write(1_000);
  await run();
  expect(idsOf(await entriesOf(log.db))).toEqual(upTo(1_002));
  expect(await log.waiting()).toBe(0);
  await late.query("UPDATE log_outbox SET item_id = 2000 WHERE item_id = 99");
  await late.commit();
  late.release();
  await run();
  expect(idsOf(await entriesOf(log.db))).toEqual([...upTo(1_002), 2_000]);
  expect(await log.faults()).toEqual([]);
});

it("of sequencers that run at once, one decides each batch; nothing is lost or comes twice", async () => {
  const replicas = await Promise.all([1, 2, 3].map(() => startLogReplica(log.db.config, log.key)));
  let isWriting = true;
  const sequencing = replicas.map(async ({ run }) => {
    while (isWriting) await run();
  });
  const rollBack = await log.db.pool.getConnection();
  for (let round = 0; round < 60; round++) {
    await log.write(round % 7);
    await rollBack.beginTransaction();
    await rollBack.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ('comment', 0, '')");
    await rollBack.rollback();
  }
  rollBack.release();
  await expect.poll(log.isPublished).toBe(true);
  isWriting = false;
  await Promise.all(sequencing);
  expect(idsOf(await entriesOf(log.db))).toEqual(upTo(log.written));
  expect(await log.faults()).toEqual([]);
});

it("another replica takes over what has waited, also a tree without its note", async () => {
  const [first, second] = [
    await startLogReplica(log.db.config, log.key),
    await startLogReplica(log.db.config, log.key),
  ];
  await log.write(1);
  await runUntil(first.run, log.isPublished);
  await log.write(1);
  await second.run();
  expect((await log.head()).size).toBe(2);
  await runUntil(second.run, log.isPublished);
  expect(idsOf(await entriesOf(log.db))).toEqual([1, 2]);
  // The other one has not sequenced last, and finds that out.
  await log.write(1);
  await first.run();
  expect(idsOf(await entriesOf(log.db))).toEqual([1, 2, 3]);
  await log.db.pool.query(
    "CREATE TRIGGER no_notes BEFORE UPDATE ON log_head FOR EACH ROW IF NEW.signed <> OLD.signed THEN SIGNAL SQLSTATE '45000'; END IF",
  );
  await log.write(1);
  await expect(first.run()).rejects.toThrow();
  expect((await log.head()).signed).toBeLessThan((await log.head()).size);
  await log.db.pool.query("DROP TRIGGER no_notes");
  await runUntil(second.run, log.isPublished);
  expect(await log.faults()).toEqual([]);
});

it("a look at the outbox begins after what was gone over a minute ago; once a minute it finds what committed late", async () => {
  const minute = 60_000;
  const { run, db, outbox } = await startLogReplica(log.db.config, log.key);
  const look = (at: number) => outbox.look(db.reader(new AbortController().signal), at);
  const late = await log.db.pool.getConnection();
  await late.beginTransaction();
  await late.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ('comment', 99, ?)", [entryText(99)]);
  await log.write(10);
  await look(0);
  await runUntil(run, log.isPublished);
  await look(minute);
  await look(2 * minute);
  await late.commit();
  late.release();
  // While a backup holds a snapshot, a look at all of it passes over every row that was deleted since.
  await look(3 * minute - 1);
  await run();
  expect(await log.waiting()).toBe(1);
  await look(3 * minute);
  await run();
  expect(await log.waiting()).toBe(0);
  expect(idsOf(await entriesOf(log.db))).toEqual([...upTo(10), 99]);
  expect(await log.faults()).toEqual([]);
});

describe("a failure changes nothing, and the next run goes on", () => {
  // The last of the tables that a batch changes.
  it("of a statement", async () => {
    const { run } = await startLogReplica(log.db.config, log.key);
    await log.write(2);
    await runUntil(run, log.isPublished);
    const before = await log.head();
    await log.write(3);
    await log.db.pool.query("CREATE TRIGGER fails BEFORE UPDATE ON log_tiles FOR EACH ROW SIGNAL SQLSTATE '45000'");
    await expect(run()).rejects.toThrow();
    expect(await log.head()).toEqual(before);
    expect(await log.waiting()).toBe(3);
    await log.db.pool.query("DROP TRIGGER fails");
    await runUntil(run, log.isPublished);
    expect(idsOf(await entriesOf(log.db))).toEqual(upTo(5));
    expect(await log.faults()).toEqual([]);
  });

  it.each(["before", "after"] as const)("the connection ends at any command, %s it is done", async (when) => {
    const proxy = await startCuttingProxy(log.db.config);
    const { run } = await startLogReplica(proxy.config, log.key);
    await log.write(1);
    await runUntil(run, log.isPublished);
    let cuts = 0;
    for (let number = 1; ; number++) {
      await log.write(2);
      proxy.cutAt(number, when);
      await run().catch(() => {});
      if (!proxy.wasCut()) break;
      cuts++;
      await runUntil(run, log.isPublished);
      expect(idsOf(await entriesOf(log.db))).toEqual(upTo(log.written));
    }
    expect(cuts).toBeGreaterThan(0);
    expect(await log.faults()).toEqual([]);
  });
});

it("a row of the outbox that is gone when it is to be moved stops the batch", async () => {
  const { run } = await startLogReplica(log.db.config, log.key);
  await log.write(1);
  await runUntil(run, log.isPublished);
  await log.write(2);
  await log.db.pool.query(
    "CREATE TRIGGER steals BEFORE UPDATE ON log_head FOR EACH ROW DELETE FROM log_outbox WHERE item_id = 3",
  );
  await expect(run()).rejects.toThrow("The outbox of the log has changed meanwhile.");
  await log.db.pool.query("DROP TRIGGER steals");
  expect((await log.head()).size).toBe(2);
});
