// Calls go on when the server behind an address leaves, becomes read-only, or is another one.
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { StoaError } from "../../../src/errors.ts";
import { Database } from "../../../src/store/database/database.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { startCuttingProxy } from "../../support/cutting-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { startGaleraRelay } from "../../support/galera-relay.ts";
import { waitUntil } from "../../support/wait.ts";

const never = new AbortController().signal;

const test = await createTestDatabase();
await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
/** A database that seems to be a node of a Galera cluster. */
const galera = (await startGaleraRelay(test.config)).config;
beforeEach(async () => {
  await test.rows("DELETE FROM t");
  await test.rows("INSERT INTO t VALUES (1, 0)");
});

function open(address: TestDatabase["config"], connections = 8): Database {
  const db = new Database({ address, connections });
  onTestFinished(() => db.close());
  return db;
}

const add = (db: Database) => db.transaction(never, (tx) => tx.run("UPDATE t SET n = n + 1 WHERE id = ?", [1]));
const connectionId = async (reader: Queryable) =>
  (await reader.rows<{ id: number }>("SELECT CONNECTION_ID() AS id"))[0]?.id;
const idOf = (db: Pick<Database, "reader">) => connectionId(db.reader(never));

it("calls whose connection is lost run again on a cluster", async () => {
  const db = open(galera);
  await Promise.all([add(db), idOf(db)]);
  expect(db.isCluster).toBe(true);
  const lock = await test.pool.getConnection();
  await lock.query("LOCK TABLES t WRITE");
  const calls = [db.reader(never).rows("SELECT n FROM t"), add(db)];
  const waiting = async () => {
    const rows = await test.rows<{ Id: number; db: string | null; State: string | null }>("SHOW FULL PROCESSLIST");
    return rows.filter((row) => row.db === test.config.database && /lock/i.test(row.State ?? "")).map(({ Id }) => Id);
  };
  await waitUntil("both calls to wait", async () => (await waiting()).length === 2);
  const killed = await waiting();
  for (const id of killed) await test.rows(`KILL ${id}`);
  await waitUntil("both calls to wait on other connections", async () => {
    const now = await waiting();
    return now.length === 2 && !now.some((id) => killed.includes(id));
  });
  await lock.query("UNLOCK TABLES");
  lock.release();
  await Promise.all(calls);
  expect(db.retries.get("server")).toBeGreaterThanOrEqual(2);
  expect(await test.rows("SELECT n FROM t")).toEqual([{ n: 2 }]);
});

it("work that reads from one server has one connection on a cluster", async () => {
  const db = open(galera);
  await idOf(db);
  const ids = await db.onOneServer(never, (reader) => Promise.all([1, 2, 3].map(() => connectionId(reader))));
  expect(new Set(ids).size).toBe(1);
});

it("on Galera, no statement is prepared while a transaction is open", async () => {
  /** @returns how many statements the server prepared after the first one */
  const preparedWithin = (db: Database) =>
    db.transaction(never, async (tx) => {
      const prepared = async () =>
        Number((await tx.rows<{ Value: string }>("SHOW SESSION STATUS LIKE 'Com_stmt_prepare'"))[0]?.Value);
      const before = await prepared();
      await tx.run("UPDATE t SET n = n + 1 WHERE id = ?", [1]);
      await tx.rows("SELECT n FROM t WHERE id = ?", [1]);
      return (await prepared()) - before;
    });
  const db = open(galera);
  expect(await preparedWithin(db)).toBe(0);
  expect(await preparedWithin(db)).toBe(0);
  expect(await test.rows("SELECT n FROM t")).toEqual([{ n: 2 }]);
});

it("the address may come to lead to a cluster, or to a single server", async () => {
  const relay = await startGaleraRelay(test.config);
  const db = open(relay.config);
  const seen: boolean[] = [];
  for (const isNode of [false, true, false]) {
    relay.isNode = isNode;
    const id = await idOf(db);
    seen.push(db.isCluster);
    await test.rows(`KILL ${id}`);
    await waitUntil("the end of the connection", () => relay.clients === 0);
  }
  expect(seen).toEqual([false, true, false]);
});

it("the connections to a server that becomes read-only are given up, and the write runs on a new one", async () => {
  await test.rows(
    "CREATE TRIGGER refuse BEFORE UPDATE ON t FOR EACH ROW SIGNAL SQLSTATE 'HY000' SET MYSQL_ERRNO = 1290, MESSAGE_TEXT = 'read-only'",
  );
  const db = open(test.config);
  const connections = () => Promise.all([idOf(db), idOf(db), idOf(db), idOf(db.priority)]);
  const before = await connections();
  const used: (number | undefined)[] = [];
  await db.transaction(never, async (tx) => {
    used.push(await connectionId(tx));
    if (used.length === 2) await test.rows("DROP TRIGGER refuse");
    await tx.run("UPDATE t SET n = n + 1 WHERE id = 1");
  });
  expect(used).toHaveLength(2);
  const given = [...before, used[0]];
  for (const each of [used[1], ...(await connections())]) expect(given).not.toContain(each);
  expect(await test.rows("SELECT n FROM t")).toEqual([{ n: 1 }]);
});

it("a transaction without an answer to COMMIT is not repeated unless its work has a claim", async () => {
  const proxy = await startCuttingProxy(test.config);
  const db = open(proxy.config);
  const insert = (id: number, isClaimed: boolean) => {
    let runs = 0;
    return db.transaction(
      never,
      async (tx) => {
        runs += 1;
        const [row] = await tx.rows("SELECT 1 FROM t WHERE id = ?", [id]);
        if (row === undefined) await tx.run("INSERT INTO t VALUES (?, 0)", [id]);
        if (runs === 1) proxy.cutAtText("COMMIT", "after");
        return runs;
      },
      { isClaimed },
    );
  };
  const failure = await insert(2, false).catch((error) => error);
  expect(failure).toBeInstanceOf(StoaError);
  expect(failure.message).toContain("did not say whether");
  expect(await insert(3, true)).toBe(2);
  expect(await test.rows("SELECT id FROM t ORDER BY id")).toEqual([{ id: 1 }, { id: 2 }, { id: 3 }]);
});
