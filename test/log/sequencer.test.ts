import { beforeEach, describe, expect, it } from "vitest";
import { OutboxFloor } from "../../src/log/sequencer/outbox-floor.ts";
import type { SignerKey } from "../../src/tlog/notes/signer-key.ts";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { createDatabaseWithSchema, type TestDatabase } from "../support/database.ts";
import { type AnyEntry, beginTestLog, entriesOf, faultsOfLog, startLogReplica } from "../support/log.ts";

let db: TestDatabase;
let key: SignerKey;
let written: number;

beforeEach(async () => {
  db = await createDatabaseWithSchema();
  key = await beginTestLog(db);
  written = 0;
});

const entryText = (id: number) =>
  `{"content":"${"ab".repeat(32)}","id":${id},"of":"comment","ts":"2026-03-14T09:26:53.589Z","type":"edit","v":1}`;

/** Adds entries to the outbox, in one transaction each. */
async function write(count: number): Promise<void> {
  for (let done = 0; done < count; done += 500) {
    const rows = Array.from({ length: Math.min(500, count - done) }, () => ["comment", ++written, entryText(written)]);
    await db.pool.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ?", [rows]);
  }
}

const faults = () => faultsOfLog(db, { isImported: false });
const idsOf = (entries: AnyEntry[]) => entries.filter(({ type }) => type === "edit").map(({ id }) => id);
const upTo = (n: number) => Array.from({ length: n }, (_, at) => at + 1);
const headOf = async () =>
  (await db.rows<{ size: number; signed: number }>("SELECT size, signed FROM log_head"))[0] as {
    size: number;
    signed: number;
  };
const waiting = async () => (await db.rows<{ n: number }>("SELECT COUNT(*) AS n FROM log_outbox"))[0]?.n;

/** Runs a sequencer that may have to wait before it takes over. */
const runUntil = (run: () => Promise<void>, isDone: () => Promise<boolean>) =>
  expect.poll(() => run().then(isDone, isDone), { interval: 20 }).toBe(true);
const isPublished = async () => {
  const { size, signed } = await headOf();
  return size === signed && (await waiting()) === 0;
};

it("gives entries their indexes, in the order of their ids, and publishes each tree", async () => {
  const { run, publisher } = await startLogReplica(db.config, key);
  await write(3);
  await runUntil(run, isPublished);
  await write(2);
  await run();
  expect((await entriesOf(db)).map(({ type }) => type)[0]).toBe("log");
  expect(idsOf(await entriesOf(db))).toEqual([1, 2, 3, 4, 5]);
  expect(publisher.tree?.size).toBe(6);
  expect(await faults()).toEqual([]);
});

it("grows through every size to 300, and past 256 × 256", async () => {
  const { run } = await startLogReplica(db.config, key);
  await write(1);
  await runUntil(run, isPublished);
  for (let size = 3; size <= 300; size++) {
    await write(1);
    await run();
    expect(await headOf()).toEqual({ size, signed: size });
  }
  expect(await faults()).toEqual([]);
  await write(256 * 256 - 298);
  await run();
  expect(await headOf()).toEqual({ size: 65_538, signed: 65_538 });
  expect(await faults()).toEqual([]);
});

it("acts and receipts follow the outbox, each once, and those from before the log are imported", async () => {
  const { run } = await startLogReplica(db.config, key);
  await db.pool.query(
    `INSERT INTO moderations (id, role, act, item, item_id, reason, created_at) VALUES
       (1, 'operator', 'remove', 'comment', 1, 'spam', -5), (2, 'operator', 'restore', 'comment', 1, NULL, 7),
       (4, 'operator', 'remove', 'comment', 2, 'spam', 9)`,
  );
  const receipt = (seq: number, hash: string, end = `"ts":"2026-01-31T00:00:04.120Z","v":1}`) => [
    seq, hash.repeat(64), `${seq}`.repeat(64), `{"seq":${seq},${end}`,
  ]; // biome-ignore format: one row
  await db.pool.query("INSERT INTO receipts (seq, hash, prev_hash, canonical) VALUES ?", [
    [receipt(1, "a"), receipt(2, "b"), receipt(3, "c", "damaged")],
  ]);
  await write(1);
  await runUntil(run, isPublished);
  await write(1);
  await run();
  expect((await entriesOf(db)).slice(1)).toEqual([
    expect.objectContaining({ type: "edit", id: 1 }),
    { type: "act", id: 1, act: "remove", item: "comment", item_id: 1, reason: "spam", role: "operator", ts: "1969-12-31T23:59:59.995Z", imported: true, v: 1 },
    { type: "act", id: 2, act: "restore", item: "comment", item_id: 1, reason: null, role: "operator", ts: "1970-01-01T00:00:00.007Z", v: 1 },
    { type: "receipt", seq: 1, hash: "a".repeat(64), ts: "2026-01-31T00:00:04.120Z", v: 1 },
    { type: "receipt", seq: 2, hash: "b".repeat(64), ts: "2026-01-31T00:00:04.120Z", v: 1 },
    expect.objectContaining({ type: "edit", id: 2 }),
  ]); // biome-ignore format: one entry a line
  expect(await faults()).toEqual([]);
});

it("a late commit with a lower id comes next, and nobody waits for it", async () => {
  const { run } = await startLogReplica(db.config, key);
  const late = await db.pool.getConnection();
  await late.beginTransaction();
  await late.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ('comment', 99, ?)", [entryText(2_000)]);
  await write(2);
  await runUntil(run, isPublished);
  expect(idsOf(await entriesOf(db))).toEqual([1, 2]);
  // A scan of the whole table would be cheaper for the server, and wait.
  await write(1_000);
  await run();
  expect(idsOf(await entriesOf(db))).toEqual(upTo(1_002));
  expect(await waiting()).toBe(0);
  await late.query("UPDATE log_outbox SET item_id = 2000 WHERE item_id = 99");
  await late.commit();
  late.release();
  await run();
  expect(idsOf(await entriesOf(db))).toEqual([...upTo(1_002), 2_000]);
  expect(await faults()).toEqual([]);
});

it("a look begins after what was sequenced over a minute ago, and once a minute at the beginning", () => {
  const floor = new OutboxFloor();
  expect(floor.begin(0)).toBe(0);
  floor.passed([5, 9]);
  expect(floor.begin(59_999)).toBe(0);
  expect(floor.begin(60_000)).toBe(0);
  floor.passed([11, 10]);
  expect(floor.begin(119_999)).toBe(0);
  expect(floor.begin(120_000)).toBe(0);
  expect(floor.begin(120_001)).toBe(9);
  expect(floor.begin(180_000)).toBe(0);
  expect(floor.begin(180_001)).toBe(11);
});

it("of sequencers that run at once, one decides each batch; nothing is lost or comes twice", async () => {
  const replicas = await Promise.all([1, 2, 3].map(() => startLogReplica(db.config, key)));
  let isWriting = true;
  const sequencing = replicas.map(async ({ run }) => {
    while (isWriting) await run();
  });
  const rollBack = await db.pool.getConnection();
  for (let round = 0; round < 60; round++) {
    await write(round % 7);
    await rollBack.beginTransaction();
    await rollBack.query("INSERT INTO log_outbox (item, item_id, entry) VALUES ('comment', 0, '')");
    await rollBack.rollback();
  }
  rollBack.release();
  await expect.poll(isPublished).toBe(true);
  isWriting = false;
  await Promise.all(sequencing);
  expect(idsOf(await entriesOf(db))).toEqual(upTo(written));
  expect(await faults()).toEqual([]);
});

it("another replica takes over what has waited, also a tree without its note", async () => {
  const [first, second] = [await startLogReplica(db.config, key), await startLogReplica(db.config, key)];
  await write(1);
  await runUntil(first.run, isPublished);
  await write(1);
  await second.run();
  expect((await headOf()).size).toBe(2);
  await runUntil(second.run, isPublished);
  expect(idsOf(await entriesOf(db))).toEqual([1, 2]);
  // The other one has not sequenced last, and finds that out.
  await write(1);
  await first.run();
  expect(idsOf(await entriesOf(db))).toEqual([1, 2, 3]);
  await db.pool.query(
    "CREATE TRIGGER no_notes BEFORE UPDATE ON log_head FOR EACH ROW IF NEW.signed <> OLD.signed THEN SIGNAL SQLSTATE '45000'; END IF",
  );
  await write(1);
  await expect(first.run()).rejects.toThrow();
  await db.pool.query("DROP TRIGGER no_notes");
  expect((await headOf()).signed).toBeLessThan((await headOf()).size);
  await runUntil(second.run, isPublished);
  expect(await faults()).toEqual([]);
});

describe("a failure changes nothing, and the next run goes on", () => {
  it.each([
    "BEFORE UPDATE ON log_head",
    "BEFORE INSERT ON log_entries",
    "AFTER INSERT ON log_entries",
    "BEFORE DELETE ON log_outbox",
    "BEFORE UPDATE ON log_tiles",
  ])("%s", async (event) => {
    const { run } = await startLogReplica(db.config, key);
    await write(2);
    await runUntil(run, isPublished);
    const before = await headOf();
    await write(3);
    await db.pool.query(`CREATE TRIGGER fails ${event} FOR EACH ROW SIGNAL SQLSTATE '45000'`);
    await expect(run()).rejects.toThrow();
    expect(await headOf()).toEqual(before);
    expect(await waiting()).toBe(3);
    await db.pool.query("DROP TRIGGER fails");
    await runUntil(run, isPublished);
    expect(idsOf(await entriesOf(db))).toEqual(upTo(5));
    expect(await faults()).toEqual([]);
  });

  it.each(["before", "after"] as const)("the connection ends at any command, %s it is done", async (when) => {
    const proxy = await startCuttingProxy(db.config);
    const { run } = await startLogReplica(proxy.config, key);
    await write(1);
    await runUntil(run, isPublished);
    let cuts = 0;
    for (let number = 1; ; number++) {
      await write(2);
      proxy.cutAt(number, when);
      await run().catch(() => {});
      if (!proxy.wasCut()) break;
      cuts++;
      await runUntil(run, isPublished);
      expect(idsOf(await entriesOf(db))).toEqual(upTo(written));
    }
    expect(cuts).toBeGreaterThan(0);
    expect(await faults()).toEqual([]);
  });
});

it("a row of the outbox that is gone when it is to be moved stops the batch", async () => {
  const { run } = await startLogReplica(db.config, key);
  await write(1);
  await runUntil(run, isPublished);
  await write(2);
  await db.pool.query(
    "CREATE TRIGGER steals BEFORE UPDATE ON log_head FOR EACH ROW DELETE FROM log_outbox WHERE item_id = 3",
  );
  await expect(run()).rejects.toThrow("The outbox of the log has changed meanwhile.");
  await db.pool.query("DROP TRIGGER steals");
  expect((await headOf()).size).toBe(2);
});
