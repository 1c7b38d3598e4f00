// Reads, writes and priority work: none of them takes the connections that are reserved for the others.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../../src/store/database/database.ts";
import { createTestDatabase, type TestDatabase } from "../../../support/database.ts";
import { waitUntil } from "../../../support/wait.ts";

const never = new AbortController().signal;
/** 2 of them are reserved for reads, 2 for writes and 1 for priority work. */
const connections = 8;
let test: TestDatabase;
let db: Database;

beforeAll(async () => {
  test = await createTestDatabase();
  await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
  await test.rows("INSERT INTO t VALUES (1, 0)");
});
beforeEach(() => {
  db = new Database({ address: test.config, connections });
  return () => db.close();
});

const add = (signal = never) => db.transaction(signal, (tx) => tx.run("UPDATE t SET n = n + 1 WHERE id = 1"));
const read = (signal = never) => db.reader(signal).rows<{ n: number }>("SELECT n FROM t WHERE id = 1");

/** Locks the row that `add` changes. `release` unlocks it. */
async function lockRow(): Promise<{ release(): Promise<void> }> {
  const connection = await test.pool.getConnection();
  await connection.beginTransaction();
  await connection.query("SELECT n FROM t WHERE id = 1 FOR UPDATE");
  return {
    async release() {
      await connection.rollback();
      connection.release();
    },
  };
}

/** Starts 40 calls and waits until they use all the connections they may use. */
async function crowd(call: () => Promise<unknown>): Promise<{ calls: Promise<unknown>[]; inUse: number }> {
  const calls = Array.from({ length: 40 }, call);
  await waitUntil("the connections", () => db.load.inUse >= 5);
  return { calls, inUse: db.load.inUse };
}

describe("writes that wait for a lock", () => {
  it("leave connections for reads and priority work, and all take effect", async () => {
    const [{ n = 0 } = {}] = await read();
    const lock = await lockRow();
    const { calls, inUse } = await crowd(() => add());
    expect(inUse).toBe(5);
    expect(await Promise.all(Array.from({ length: 20 }, () => read()))).toHaveLength(20);
    await db.priority.reader(never).rows("SELECT 1");
    await db.priority.transaction(never, (tx) => tx.rows("SELECT 1"));
    expect(db.load).toEqual({ inUse: 5, waiting: 35 });
    await lock.release();
    await Promise.all(calls);
    expect(await read()).toEqual([{ n: n + 40 }]);
    expect(db.load).toEqual({ inUse: 0, waiting: 0 });
  });

  it("leave the queue at once when their callers abort", async () => {
    const lock = await lockRow();
    const callers = Array.from({ length: 40 }, () => new AbortController());
    const calls = Promise.allSettled(callers.map(({ signal }) => add(signal)));
    await waitUntil("the connections", () => db.load.inUse === 5);
    expect(db.load.waiting).toBe(35);
    for (const caller of callers.slice(5)) caller.abort(new Error("given up"));
    expect(db.load.waiting).toBe(0);
    for (const caller of callers) caller.abort(new Error("given up"));
    const outcomes = await calls;
    expect(outcomes.filter(({ status }) => status === "rejected")).toHaveLength(40);
    await waitUntil("free connections", () => db.load.inUse === 0);
    await lock.release();
    // Every connection still works for reads and writes.
    await Promise.all([...Array.from({ length: 20 }, () => add()), ...Array.from({ length: 20 }, () => read())]);
  });
});

describe("slow reads", () => {
  it("leave connections for writes and priority work", async () => {
    const done = new AbortController();
    const { calls, inUse } = await crowd(() => db.reader(done.signal).rows("SELECT SLEEP(8)"));
    expect(inUse).toBe(5);
    await Promise.all(Array.from({ length: 20 }, () => add()));
    await db.priority.reader(never).rows("SELECT 1");
    expect(db.load).toEqual({ inUse: 5, waiting: 35 });
    done.abort(new Error("given up"));
    await Promise.allSettled(calls);
  });
});

it("a pool of fewer than four connections reserves none", async () => {
  const small = new Database({ address: test.config, connections: 2 });
  const both = Promise.withResolvers<void>();
  let inside = 0;
  const meet = () =>
    small.transaction(never, async (tx) => {
      await tx.rows("SELECT 1");
      if (++inside === 2) both.resolve();
      await both.promise;
    });
  await Promise.all([meet(), meet()]);
  await small.close();
});
