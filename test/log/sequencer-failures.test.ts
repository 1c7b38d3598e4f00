import { beforeEach, describe, expect, it } from "vitest";
import { startCuttingProxy } from "../support/cutting-proxy.ts";
import { entriesOf, startLogReplica } from "../support/log.ts";
import { idsOf, runUntil, SequencedLog, upTo } from "./sequenced-log.ts";

let log: SequencedLog;
beforeEach(async () => {
  log = await SequencedLog.begin();
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
