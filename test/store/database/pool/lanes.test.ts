// Reads, writes, and what is vital: none of them takes the connections that are kept for the others.
import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../../src/store/database/database.ts";
import { createTestDatabase, type TestDatabase } from "../../../support/database.ts";
import { waitUntil } from "../../../support/wait.ts";

const never = new AbortController().signal;
/** Of which 2 are kept for reads, 2 for writes, and 1 for what is vital. */
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

/** Holds the row that `add` changes; `release` lets the writes go on. */
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

/** Begins many calls and waits until as many of them have a connection as may. */
async function crowd(call: () => Promise<unknown>): Promise<{ calls: Promise<unknown>[]; inUse: number }> {
  const calls = Array.from({ length: 40 }, call);
  await waitUntil("the connections", () => db.load.inUse >= 5);
  return { calls, inUse: db.load.inUse };
}

describe("writes that wait for a lock", () => {
  it("leave connections to reads and to what is vital, and all of them happen", async () => {
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

  it("leave the queue at once when their callers give up", async () => {
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
    // Every connection is still good for either.
    await Promise.all([...Array.from({ length: 20 }, () => add()), ...Array.from({ length: 20 }, () => read())]);
  });
});

describe("slow reads", () => {
  it("leave connections to writes and to what is vital", async () => {
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

it("with fewer than four connections nothing is kept: what one of them begins, another may need to end", async () => {
  const few = new Database({ address: test.config, connections: 2 });
  const both = Promise.withResolvers<void>();
  let inside = 0;
  const meet = () =>
    few.transaction(never, async (tx) => {
      await tx.rows("SELECT 1");
      if (++inside === 2) both.resolve();
      await both.promise;
    });
  await Promise.all([meet(), meet()]);
  await few.close();
});
