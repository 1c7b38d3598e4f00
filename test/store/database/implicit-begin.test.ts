// Transactions and reads take turns in one session.
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { Session } from "../../../src/store/database/pool/session.ts";
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

it("a read leaves no transaction open in a session that had one", async () => {
  await add();
  const [{ id, autocommit } = { id: 0, autocommit: 0 }] = await db
    .reader(never)
    .rows<{ id: number; autocommit: number }>(
      "SELECT CONNECTION_ID() AS id, @@autocommit AS autocommit, n FROM t WHERE id = 1",
    );
  expect(autocommit).toBe(1);
  const open = "SELECT trx_id FROM information_schema.innodb_trx WHERE trx_mysql_thread_id = ?";
  expect(await test.rows(open, [id])).toEqual([]);
  // An open transaction would be in the way of this.
  await db.runDdl(never, "ALTER TABLE t ADD COLUMN m INT NULL");
  await db.runDdl(never, "ALTER TABLE t DROP COLUMN m");
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

it("a pool of few connections reserves none: all of them may be in transactions", async () => {
  const small = new Database({ address: test.config, connections: 2 });
  onTestFinished(() => small.close());
  const both = Promise.withResolvers<void>();
  let inside = 0;
  const meet = () =>
    small.transaction(never, async (tx) => {
      await tx.rows("SELECT 1");
      if (++inside === 2) both.resolve();
      await both.promise;
    });
  await Promise.all([meet(), meet()]);
});

it("on Galera, no statement is prepared while a transaction is open", async () => {
  const { setUp } = Session.prototype;
  vi.spyOn(Session.prototype, "setUp").mockImplementation(async function (this: Session, options) {
    await setUp.call(this, options);
    // Only now: a MySQL server does not know the variables of Galera.
    this.node = { server: "node", engine: "galera", isWritable: true };
  });
  onTestFinished(() => void vi.restoreAllMocks());
  /** @returns how many statements the server prepared after the first one */
  const preparedWithin = (galera: Database) =>
    galera.transaction(never, async (tx) => {
      const prepared = async () =>
        Number((await tx.rows<{ Value: string }>("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'"))[0]?.Value);
      const before = await prepared();
      await tx.run("UPDATE t SET n = n + 1 WHERE id = ?", [1]);
      await tx.rows("SELECT n FROM t WHERE id = ?", [1]);
      return (await prepared()) - before;
    });
  const open = () => {
    const galera = new Database({ address: { ...test.config, syncReads: false }, connections: 1 });
    onTestFinished(() => galera.close());
    return galera;
  };
  expect(await preparedWithin(open())).toBe(0);
  expect(await preparedWithin(open())).toBe(0);
  expect(await read()).toEqual([{ n: 2 }]);
});
