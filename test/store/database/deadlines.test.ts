// Calls to a database that takes too long, and callers that leave, end in time. What never answers cannot end a call, so a call
// that ends has met its time limit: no test measures how long it took.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { waitUntil } from "../../support/wait.ts";
import {
  add,
  createRows,
  failure,
  longMs,
  never,
  numberAt,
  read,
  resetRows,
  timeoutMs,
  unavailable,
  untilDone,
} from "./rows.ts";

const test = await createRows();
beforeEach(() => resetRows(test));

/** Returns the statements that run in this test's database, without this query itself. */
async function running(): Promise<string[]> {
  const rows = await test.rows<{ db: string | null; Info: string | null; Command: string }>("SHOW FULL PROCESSLIST");
  return rows.flatMap(({ db, Info, Command }) =>
    db === test.config.database && Command !== "Sleep" && Info !== null && !Info.startsWith("SHOW") ? [Info] : [],
  );
}

const untilRunning = (text: string) =>
  waitUntil("the statement to run", async () => (await running()).some((sql) => sql.includes(text)));
const untilNothingRuns = () => waitUntil("the statement to end", async () => (await running()).length === 0);

async function lockRow(id: number): Promise<{ release(): Promise<void> }> {
  const connection = await test.pool.getConnection();
  await connection.beginTransaction();
  await connection.query("SELECT n FROM t WHERE id = ? FOR UPDATE", [id]);
  return {
    async release() {
      await connection.rollback();
      connection.release();
    },
  };
}

describe("a statement whose caller aborts", () => {
  let db: Database;
  beforeAll(() => {
    db = new Database({ address: test.config, connections: 2, timeoutMs: longMs });
  });
  afterAll(() => db.close());

  it("ends in the server if it is a read, and its connection serves the next call", async () => {
    const id = () => db.reader(never).rows<{ id: number }>("SELECT CONNECTION_ID() AS id");
    const before = await id();
    const leaving = new AbortController();
    const call = failure(db.reader(leaving.signal).rows("SELECT SLEEP(100) /* left */"));
    await untilRunning("left");
    leaving.abort(new Error("given up"));
    expect(await call).toMatchObject({ message: "given up" });
    await untilNothingRuns();
    expect(await id()).toEqual(before);
  });

  it("ends in the server and is rolled back if it is a write that waits for a lock", async () => {
    const lock = await lockRow(2);
    const leaving = new AbortController();
    const call = failure(
      db.transaction(leaving.signal, async (tx) => {
        await tx.run("UPDATE t SET n = n + 1 WHERE id = 1");
        await tx.run("UPDATE t SET n = n + 1 WHERE id = 2 /* left */");
      }),
    );
    await untilRunning("left");
    leaving.abort(new Error("given up"));
    expect(await call).toMatchObject({ message: "given up" });
    await untilNothingRuns();
    // The aborted transaction holds no lock any more.
    await add(db, 1);
    expect(await numberAt(test, 1)).toBe(1);
    await lock.release();
  });

  it("is given up at once if it is DDL, which the server finishes", async () => {
    const leaving = new AbortController();
    const call = failure(db.runDdl(leaving.signal, "CREATE TABLE finished AS SELECT SLEEP(0.5) AS n /* left */"));
    await untilRunning("left");
    leaving.abort(new Error("given up"));
    expect(await call).toMatchObject({ message: "given up" });
    await untilNothingRuns();
    await untilDone(() => read(db));
  });

  it("frees its connection for other calls without interrupting them", async () => {
    for (let i = 0; i < 10; i++) {
      const leaving = new AbortController();
      const call = failure(db.reader(leaving.signal).rows("SELECT SLEEP(100)"));
      setTimeout(() => leaving.abort(new Error("given up")), i * 7);
      await call;
      await Promise.all([read(db), read(db), add(db)]);
    }
  });
});

describe("calls that take too long", () => {
  let db: Database;
  beforeAll(() => {
    db = new Database({ address: test.config, connections: 6, timeoutMs });
  });
  afterAll(() => db.close());

  // All at once, as each waits for its time limit.
  it("fail: one statement, which ends in the server, one that waits for a lock, and many short ones together", async () => {
    const lock = await lockRow(1);
    const reader = db.reader(never);
    const endless = async () => {
      for (;;) await reader.rows("SELECT SLEEP(0.1)");
    };
    const calls = [reader.rows("SELECT n FROM t WHERE SLEEP(100)"), add(db), endless()];
    for (const error of await Promise.all(calls.map(failure))) expect(error).toMatchObject(unavailable);
    await lock.release();
    await untilNothingRuns();
    await untilDone(() => read(db));
    await untilDone(() => add(db));
    expect(await numberAt(test, 1)).toBe(1);
  });

  it("may run for any time without a limit, as in a migration", async () => {
    const unlimited = new Database({ address: test.config, connections: 1, timeoutMs: Number.POSITIVE_INFINITY });
    await unlimited.runDdl(never, "CREATE TABLE u AS SELECT SLEEP(0.1) AS n");
    expect(await unlimited.reader(never).rows("SELECT COUNT(*) AS value FROM u")).toEqual([{ value: 1 }]);
    await unlimited.close();
  });

  it("fail as `unavailable` while the server refuses the account, and work again after that", async () => {
    const user = test.config.database;
    await test.rows(`CREATE USER '${user}'@'%' IDENTIFIED BY 'first'`);
    await test.rows(`CREATE USER '${user}'@'localhost' IDENTIFIED BY 'first'`);
    for (const host of ["%", "localhost"]) await test.rows(`GRANT ALL ON ${user}.* TO '${user}'@'${host}'`);
    const refused = new Database({
      address: { ...test.config, user, password: "first" },
      connections: 2,
      timeoutMs: longMs,
    });
    const set = async (password: string) => {
      for (const host of ["%", "localhost"])
        await test.rows(`ALTER USER '${user}'@'${host}' IDENTIFIED BY '${password}'`);
    };
    await set("second");
    expect(await failure(read(refused))).toMatchObject({ ...unavailable, message: expect.stringContaining("refuses") });
    await set("first");
    await untilDone(() => read(refused));
    await refused.close();
    for (const host of ["%", "localhost"]) await test.rows(`DROP USER '${user}'@'${host}'`);
  });
});
