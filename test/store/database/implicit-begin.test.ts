// A transaction begins with its first statement, and leaves nothing behind.
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { startCuttingProxy } from "../../support/cutting-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";

const never = new AbortController().signal;
let test: TestDatabase;
let db: Database;
beforeEach(async () => {
  test ??= await createTestDatabase();
  await test.rows("CREATE TABLE IF NOT EXISTS t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
  await test.rows("REPLACE INTO t VALUES (1, 0)");
  db = new Database({ address: test.config, connections: 1 });
  const opened = db;
  onTestFinished(() => opened.close());
});

const add = () => db.transaction(never, (tx) => tx.run("UPDATE t SET n = n + 1 WHERE id = 1"));
const read = () => db.reader(never).rows<{ n: number }>("SELECT n FROM t WHERE id = 1");

it("a read leaves no transaction open", async () => {
  await add();
  const [{ autocommit } = { autocommit: 0 }] = await db
    .reader(never)
    .rows<{ autocommit: number }>("SELECT @@autocommit AS autocommit, n FROM t WHERE id = 1");
  expect(autocommit).toBe(1);
  // On this other connection, it would wait for an open transaction.
  await test.rows("ALTER TABLE t ADD COLUMN m INT NULL");
  await test.rows("ALTER TABLE t DROP COLUMN m");
  // It would also hide what others write meanwhile, under another isolation level.
  await test.rows("UPDATE t SET n = 9 WHERE id = 1");
  expect(await read()).toEqual([{ n: 9 }]);
});

it("a transaction that does nothing, or fails, leaves nothing for the next one to commit", async () => {
  await db.transaction(never, async () => {});
  const failing = db.transaction(never, async (tx) => {
    await tx.run("UPDATE t SET n = 100 WHERE id = 1");
    await tx.run("UPDATE t SET n = NULL WHERE id = 1");
  });
  await expect(failing).rejects.toThrow();
  await add();
  expect(await read()).toEqual([{ n: 1 }]);
});

it("what a transaction wrote is lost when its ROLLBACK is, and the next call works", async () => {
  const proxy = await startCuttingProxy(test.config);
  const cut = new Database({ address: proxy.config, connections: 1 });
  onTestFinished(() => cut.close());
  const work = cut.transaction(never, async (tx) => {
    await tx.run("UPDATE t SET n = 7 WHERE id = 1");
    proxy.cutAtText("ROLLBACK", "before");
    throw new Error("the work failed");
  });
  await expect(work).rejects.toThrow("the work failed");
  expect(proxy.wasCut()).toBe(true);
  await cut.transaction(never, (tx) => tx.run("UPDATE t SET n = n + 1 WHERE id = 1"));
  expect(await read()).toEqual([{ n: 1 }]);
});
