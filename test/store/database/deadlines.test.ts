// The database stops answering in several ways. Every call ends within its time limit, and every lost connection is replaced.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { type CuttingProxy, startCuttingProxy } from "../../support/cutting-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { serverOf } from "../../support/database-link.ts";
import { type Relay, startRelay } from "../../support/relay.ts";
import { waitUntil } from "../../support/wait.ts";

const never = new AbortController().signal;
const timeoutMs = 1_500;
let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
  await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
});
beforeEach(async () => {
  await test.rows("REPLACE INTO t VALUES (1, 0), (2, 0)");
});

const numberAt = async (id: number) => (await test.rows<{ n: number }>("SELECT n FROM t WHERE id = ?", [id]))[0]?.n;
const add = (db: Database, id = 1, signal = never) =>
  db.transaction(signal, (tx) => tx.run("UPDATE t SET n = n + 1 WHERE id = ?", [id]));
const read = (db: Database, signal = never) => db.reader(signal).rows("SELECT n FROM t WHERE id = 1");
const idle = { inUse: 0, waiting: 0 };

/** Expects a promise to reject. Returns the error and the milliseconds until then. */
async function failure(promise: Promise<unknown>): Promise<{ error: unknown; ms: number }> {
  const begun = performance.now();
  return promise.then(
    (value) => {
      throw new Error(`it gave ${JSON.stringify(value)}`);
    },
    (error) => ({ error, ms: performance.now() - begun }),
  );
}

/** Returns the statements that run in this test's database, without this query itself. */
async function running(): Promise<string[]> {
  const rows = await test.rows<{ db: string | null; Info: string | null; Command: string }>("SHOW FULL PROCESSLIST");
  return rows.flatMap(({ db, Info, Command }) =>
    db === test.config.database && Command !== "Sleep" && Info !== null && !Info.startsWith("SHOW") ? [Info] : [],
  );
}

describe("connections that freeze", () => {
  let relay: Relay;
  let db: Database;
  beforeAll(async () => {
    relay = await startRelay(serverOf(test.config), (client, server) => {
      client.pipe(server);
      server.pipe(client);
    });
    const { socketPath: _socketPath, ...account } = test.config;
    const address = { ...account, host: "127.0.0.1", port: relay.port };
    db = new Database({ address, connections: 4, timeoutMs });
  });
  afterAll(() => db.close());

  it("fail every call within its time limit, are closed, and are replaced when the database answers again", async () => {
    await Promise.all(Array.from({ length: 8 }, () => read(db)));
    relay.freeze();
    const failures = await Promise.all(Array.from({ length: 12 }, (_, i) => failure(i % 2 === 0 ? read(db) : add(db))));
    for (const { error, ms } of failures) {
      expect(error).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
      expect(ms).toBeLessThan(timeoutMs + 500);
    }
    // Some calls waited for a connection. Their time is over and they have left the queue.
    expect(db.load.waiting).toBe(0);
    relay.thaw();
    expect(await read(db)).toHaveLength(1);
    await waitUntil("the lost connections to be closed", () => relay.clients <= 4);
    await waitUntil("the calls to be forgotten", () => db.load.inUse === 0);
  });

  it("are closed within a time limit when the pool closes", async () => {
    const closing = new Database({
      address: { ...test.config, socketPath: undefined, host: "127.0.0.1", port: relay.port } as never,
      connections: 4,
      timeoutMs: 60_000,
    });
    await Promise.all(Array.from({ length: 3 }, () => read(closing)));
    relay.freeze();
    const call = failure(read(closing));
    const begun = performance.now();
    await closing.close();
    expect(performance.now() - begun).toBeLessThan(6_000);
    expect((await call).error).toMatchObject({ code: "unavailable" });
    expect(closing.load).toEqual(idle);
    await expect(read(closing)).rejects.toMatchObject({ code: "unavailable" });
    relay.thaw();
  });

  it("leave nothing behind after a thousand callers abort", async () => {
    relay.freeze();
    const calls = Array.from({ length: 1_000 }, (_, i) => {
      const leaving = new AbortController();
      const call = failure(i % 2 === 0 ? read(db, leaving.signal) : add(db, 1, leaving.signal));
      return { leaving, call };
    });
    expect(db.load.waiting).toBeGreaterThan(900);
    for (const { leaving } of calls) leaving.abort(new Error("given up"));
    expect(db.load.waiting).toBe(0);
    for (const { call } of calls) {
      const { error, ms } = await call;
      expect(error).toMatchObject({ message: "given up" });
      expect(ms).toBeLessThan(1_000);
    }
    relay.thaw();
    expect(await read(db)).toHaveLength(1);
    await waitUntil("no call to be left", () => db.load.inUse === 0 && db.load.waiting === 0);
    expect(await numberAt(1)).toBe(0);
  });
});

describe("a connection that freezes in the middle of a call", () => {
  let proxy: CuttingProxy;
  let db: Database;
  beforeAll(async () => {
    proxy = await startCuttingProxy(test.config);
    db = new Database({ address: proxy.config, connections: 2, timeoutMs });
    await add(db);
  });
  afterAll(() => db.close());

  it.each([
    ["SET autocommit = 0", "before", 0],
    ["SET autocommit = 0", "after", 0],
    ["UPDATE", "before", 0],
    ["UPDATE", "after", 0],
    ["COMMIT", "before", 0],
    ["COMMIT", "after", 1],
  ] as const)(
    "fails the call within its time limit (at %s, %s the server receives it)",
    async (text, when, expected) => {
      // The comment makes the text unique, so the statement is prepared again and no later command contains its text.
      const update = (tx: { run(sql: string, params: number[]): Promise<unknown> }) =>
        tx.run(`UPDATE t SET n = n + 1 WHERE id = 1 /* ${text.toLowerCase()} ${when} */`, []);
      // After two reads at once, neither connection is ready for a transaction.
      await Promise.all([read(db), read(db)]);
      proxy.cutAtText(text, when, "freeze");
      const { error, ms } = await failure(db.transaction(never, update));
      expect(proxy.wasCut()).toBe(true);
      expect(error).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
      if (text === "COMMIT") expect((error as Error).message).toContain("did not say whether this call took effect");
      expect(ms).toBeLessThan(timeoutMs + 500);
      // The next call gets a connection at once. It waits for locks of the lost connection only until that one is closed.
      await waitUntil("the lost connection to be rolled back", async () => (await read(db)).length === 1);
      await waitUntil("the number", async () => (await numberAt(1)) === expected);
      await waitUntil("the next write", () =>
        add(db).then(
          () => true,
          () => false,
        ),
      );
      expect(await numberAt(1)).toBe(expected + 1);
    },
  );
});

describe("a statement whose caller aborts", () => {
  let db: Database;
  beforeAll(() => {
    db = new Database({ address: test.config, connections: 2, timeoutMs: 20_000 });
  });
  afterAll(() => db.close());

  it("ends in the server if it is a read", async () => {
    const leaving = new AbortController();
    const call = failure(db.reader(leaving.signal).rows("SELECT SLEEP(15) /* left */"));
    await waitUntil("the statement to run", async () => (await running()).some((sql) => sql.includes("left")));
    leaving.abort(new Error("given up"));
    expect((await call).error).toMatchObject({ message: "given up" });
    await waitUntil("the statement to end", async () => (await running()).length === 0, 2_000);
    await waitUntil("the connection to be free", () => db.load.inUse === 0, 2_000);
  });

  it("ends in the server and is rolled back if it is a write that waits for a lock", async () => {
    const holder = await test.pool.getConnection();
    await holder.beginTransaction();
    await holder.query("SELECT n FROM t WHERE id = 2 FOR UPDATE");
    const leaving = new AbortController();
    const call = failure(
      db.transaction(leaving.signal, async (tx) => {
        await tx.run("UPDATE t SET n = n + 1 WHERE id = 1");
        await tx.run("UPDATE t SET n = n + 1 WHERE id = 2 /* left */");
      }),
    );
    await waitUntil("the statement to run", async () => (await running()).some((sql) => sql.includes("left")));
    leaving.abort(new Error("given up"));
    expect((await call).error).toMatchObject({ message: "given up" });
    await waitUntil("the statement to end", async () => (await running()).length === 0, 2_000);
    // The aborted transaction holds no lock any more.
    await add(db, 1);
    expect(await numberAt(1)).toBe(1);
    await holder.rollback();
    holder.release();
  });

  it("frees its connection for other calls without interrupting them", async () => {
    for (let i = 0; i < 20; i++) {
      const leaving = new AbortController();
      const call = failure(db.reader(leaving.signal).rows("SELECT SLEEP(15)"));
      setTimeout(() => leaving.abort(new Error("given up")), i * 7);
      await call;
      await Promise.all([read(db), read(db), add(db)]);
    }
    await waitUntil("the connections to be free", () => db.load.inUse === 0);
  });
});

describe("a statement that takes too long", () => {
  let db: Database;
  beforeAll(() => {
    db = new Database({ address: test.config, connections: 2, timeoutMs });
  });
  afterAll(() => db.close());

  it("is ended by the server before the caller's time is over, and its connection stays in use", async () => {
    const ids = async () => (await db.reader(never).rows<{ id: number }>("SELECT CONNECTION_ID() AS id"))[0]?.id;
    const id = await ids();
    const tables = Array.from({ length: 6 }, (_, i) => `information_schema.columns c${i}`).join(", ");
    const { error, ms } = await failure(db.reader(never).rows(`SELECT COUNT(*) FROM ${tables} /* long */`));
    expect(error).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    expect((error as Error).message).toContain("the statement took too long");
    expect(ms).toBeLessThan(timeoutMs);
    expect(await ids()).toBe(id);
  });

  it("waits for a lock no longer than the caller's time limit, including retries", async () => {
    const holder = await test.pool.getConnection();
    await holder.beginTransaction();
    await holder.query("SELECT n FROM t WHERE id = 1 FOR UPDATE");
    const { error, ms } = await failure(add(db));
    expect(error).toMatchObject({ code: "unavailable", retryAfterSeconds: 1 });
    expect(ms).toBeLessThan(timeoutMs + 500);
    await holder.rollback();
    holder.release();
    await waitUntil("the next write", () =>
      add(db).then(
        () => true,
        () => false,
      ),
    );
    expect(await numberAt(1)).toBe(1);
  });

  it("may run for any time without a limit, as in a migration", async () => {
    const unlimited = new Database({ address: test.config, connections: 1, timeoutMs: Number.POSITIVE_INFINITY });
    await test.rows("DROP TABLE IF EXISTS u");
    await unlimited.runDdl(never, "CREATE TABLE u AS SELECT SLEEP(2) AS n");
    const rows = await unlimited.reader(never).rows<{ value: number }>("SELECT COUNT(*) AS value FROM u");
    expect(rows).toEqual([{ value: 1 }]);
    await unlimited.close();
  });
});

describe("a call of several statements", () => {
  it("has one time limit for all of them, including the wait for a connection", async () => {
    const db = new Database({ address: test.config, connections: 1, timeoutMs });
    const first = failure(db.reader(never).rows("SELECT SLEEP(1)")).catch(() => {});
    const second = db.reader(never);
    const { error, ms } = await failure(
      (async () => {
        for (;;) await second.rows("SELECT SLEEP(0.2)");
      })(),
    );
    expect(error).toMatchObject({ code: "unavailable" });
    expect(ms).toBeLessThan(timeoutMs + 500);
    await first;
    await db.close();
  });
});
