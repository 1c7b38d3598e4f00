import { beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { startCuttingProxy } from "../../support/cutting-proxy.ts";
import { createTestDatabase, openStore } from "../../support/database.ts";
import { waitUntil } from "../../support/wait.ts";

const never = new AbortController().signal;

const test = await createTestDatabase();
await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
await test.rows("INSERT INTO t VALUES (1, 0), (2, 0)");
const db = openStore(test, 8);
/** All its calls have the same connection, one after the other. */
const single = openStore(test, 1);

const numberAt = async (id: number) => (await test.rows<{ n: number }>("SELECT n FROM t WHERE id = ?", [id]))[0]?.n;

describe("a database transaction", () => {
  it("starts no further statement after its signal aborts, and rolls back", async () => {
    const before = await numberAt(1);
    const controller = new AbortController();
    let ranAfter = false;
    const work = db.transaction(controller.signal, async (tx) => {
      await tx.run("UPDATE t SET n = n + 100 WHERE id = ?", [1]);
      controller.abort(new Error("given up"));
      await tx.run("UPDATE t SET n = n + 100 WHERE id = ?", [2]);
      ranAfter = true;
    });
    await expect(work).rejects.toThrow("given up");
    expect([ranAfter, await numberAt(1)]).toEqual([false, before]);
  });

  it("does not commit when its signal aborts after the last statement", async () => {
    const before = await numberAt(1);
    const controller = new AbortController();
    const work = db.transaction(controller.signal, async (tx) => {
      await tx.run("UPDATE t SET n = n + 100 WHERE id = ?", [1]);
      controller.abort(new Error("given up"));
    });
    await expect(work).rejects.toThrow("given up");
    expect(await numberAt(1)).toBe(before);
  });

  it("is retried after a deadlock, so both transactions take effect", async () => {
    await test.rows("UPDATE t SET n = 0");
    let runs = 0;
    let firstLocks = 0;
    const both = Promise.withResolvers<void>();
    const crossing = (first: number, second: number) =>
      db.transaction(never, async (tx) => {
        runs++;
        await tx.run("UPDATE t SET n = n + 1 WHERE id = ?", [first]);
        if (++firstLocks === 2) both.resolve();
        await both.promise;
        await tx.run("UPDATE t SET n = n + 1 WHERE id = ?", [second]);
      });
    const before = new Map(db.retries);
    await Promise.all([crossing(1, 2), crossing(2, 1)]);
    expect(runs).toBe(3);
    expect(new Map(db.retries)).toEqual(new Map(before).set("conflict", (before.get("conflict") ?? 0) + 1));
    expect([await numberAt(1), await numberAt(2)]).toEqual([2, 2]);
  });

  it("reads what others have committed in the meantime (READ COMMITTED)", async () => {
    await test.rows("UPDATE t SET n = 1 WHERE id = 1");
    await db.transaction(never, async (tx) => {
      await tx.rows("SELECT n FROM t WHERE id = 1");
      await test.rows("UPDATE t SET n = 2 WHERE id = 1");
      expect(await tx.rows("SELECT n FROM t WHERE id = 1")).toEqual([{ n: 2 }]);
    });
  });
});

// A transaction begins with its first statement.
describe("what a call leaves behind", () => {
  const add = (on: Database) => on.transaction(never, (tx) => tx.run("UPDATE t SET n = n + 1 WHERE id = 1"));
  const read = () => single.reader(never).rows<{ n: number }>("SELECT n FROM t WHERE id = 1");
  beforeEach(() => test.rows("UPDATE t SET n = 0"));

  it("is no open transaction after a read", async () => {
    await add(single);
    const sql = "SELECT @@autocommit AS autocommit, n FROM t WHERE id = 1";
    expect(await single.reader(never).rows(sql)).toEqual([{ autocommit: 1, n: 1 }]);
    // On this other connection, it would wait for an open transaction.
    await test.rows("ALTER TABLE t ADD COLUMN m INT NULL");
    await test.rows("ALTER TABLE t DROP COLUMN m");
    // It would also hide what others write meanwhile, under another isolation level.
    await test.rows("UPDATE t SET n = 9 WHERE id = 1");
    expect(await read()).toEqual([{ n: 9 }]);
  });

  it("is nothing that the next transaction commits, after one that does nothing, or fails", async () => {
    await single.transaction(never, async () => {});
    const failing = single.transaction(never, async (tx) => {
      await tx.run("UPDATE t SET n = 100 WHERE id = 1");
      await tx.run("UPDATE t SET n = NULL WHERE id = 1");
    });
    await expect(failing).rejects.toThrow();
    await add(single);
    expect(await read()).toEqual([{ n: 1 }]);
  });

  it("is nothing either when its ROLLBACK is lost", async () => {
    const proxy = await startCuttingProxy(test.config);
    const cut = openStore({ ...test, config: proxy.config }, 1);
    const work = cut.transaction(never, async (tx) => {
      await tx.run("UPDATE t SET n = 7 WHERE id = 1");
      proxy.cutAtText("ROLLBACK", "before");
      throw new Error("the work failed");
    });
    await expect(work).rejects.toThrow("the work failed");
    expect(proxy.wasCut()).toBe(true);
    await add(cut);
    expect(await read()).toEqual([{ n: 1 }]);
  });
});

describe("a database reader", () => {
  it("starts no statement after its signal aborted", async () => {
    const reader = db.reader(AbortSignal.abort(new Error("given up")));
    await expect(reader.rows("SELECT 1")).rejects.toThrow("given up");
  });
});

describe("an unreachable database", () => {
  it("fails calls with `unavailable` and a time to wait", async () => {
    const away = new Database({ address: { host: "127.0.0.1", port: 9, user: "root", database: "x" }, connections: 1 });
    const expected = { code: "unavailable", retryAfterSeconds: 1 };
    await expect(away.reader(never).rows("SELECT 1")).rejects.toMatchObject(expected);
    await expect(away.transaction(never, async () => {})).rejects.toMatchObject(expected);
    await away.close();
  });

  it("fails a call whose connection is cut without any effect, and the next call works", async () => {
    const before = await numberAt(1);
    const work = db.transaction(never, async (tx) => {
      await tx.run("UPDATE t SET n = n + 100 WHERE id = ?", [1]);
      const [{ id } = { id: 0 }] = await tx.rows<{ id: number }>("SELECT CONNECTION_ID() AS id");
      await test.rows(`KILL ${id}`);
      await tx.run("UPDATE t SET n = n + 100 WHERE id = ?", [2]);
    });
    await expect(work).rejects.toMatchObject({ code: "unavailable" });
    await waitUntil("the rollback", async () => (await numberAt(1)) === before);
    await expect(db.reader(never).rows("SELECT 1 AS one")).resolves.toEqual([{ one: 1 }]);
  });
});
