// The database stops answering in several ways. Every call ends, and every lost connection is replaced. What never answers
// cannot end a call, so a call that ends has met its time limit: no test measures how long it took.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { type Cut, startCuttingProxy } from "../../support/cutting-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { serverOf } from "../../support/database-link.ts";
import { type Relay, startRelay } from "../../support/relay.ts";
import { waitUntil } from "../../support/wait.ts";

const never = new AbortController().signal;
/** Short, where a test waits until it is over. */
const timeoutMs = 2_000;
/** Longer than any test waits, where the limit must not end a call. */
const longMs = 110_000;
const unavailable = { code: "unavailable", retryAfterSeconds: 1 };
let test: TestDatabase;

beforeAll(async () => {
  test = await createTestDatabase();
  await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
});
beforeEach(async () => {
  await test.rows("REPLACE INTO t VALUES (1, 0), (2, 0), (3, 0), (4, 0)");
});

const numberAt = async (id: number) => (await test.rows<{ n: number }>("SELECT n FROM t WHERE id = ?", [id]))[0]?.n;
const add = (db: Database, id = 1, signal = never) =>
  db.transaction(signal, (tx) => tx.run("UPDATE t SET n = n + 1 WHERE id = ?", [id]));
const read = (db: Database, signal = never) => db.reader(signal).rows("SELECT n FROM t WHERE id = 1");

/** Resolves once a call has succeeded. On a busy machine, the short time limit may end some before. */
const untilDone = (call: () => Promise<unknown>) =>
  waitUntil("a call to succeed", () =>
    call().then(
      () => true,
      () => false,
    ),
  );

/** Expects a promise to reject. Returns the error. */
async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`it gave ${JSON.stringify(value)}`);
    },
    (error) => error,
  );
}

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

describe("connections that freeze", () => {
  let relay: Relay;
  const open = (limitMs: number) => {
    const { socketPath: _socketPath, ...account } = test.config;
    return new Database({
      address: { ...account, host: "127.0.0.1", port: relay.port },
      connections: 4,
      timeoutMs: limitMs,
    });
  };
  beforeAll(async () => {
    relay = await startRelay(serverOf(test.config), (client, server) => {
      client.pipe(server);
      server.pipe(client);
    });
  });

  it("fail every call, whether or not it has a connection, and are replaced when the database answers again", async () => {
    const db = open(timeoutMs);
    await untilDone(() => Promise.all([read(db), read(db)]));
    relay.freeze();
    const failures = await Promise.all(Array.from({ length: 12 }, (_, i) => failure(i % 2 === 0 ? read(db) : add(db))));
    for (const error of failures) expect(error).toMatchObject(unavailable);
    relay.thaw();
    await untilDone(() => read(db));
    await waitUntil("the lost connections to be closed", () => relay.clients <= 4);
    await db.close();
  });

  it("are closed long before the limit of calls when the pool closes", async () => {
    const db = open(longMs);
    await Promise.all([read(db), read(db), read(db)]);
    relay.freeze();
    const call = failure(read(db));
    const begun = performance.now();
    await db.close();
    expect(performance.now() - begun).toBeLessThan(longMs / 2);
    expect(await call).toMatchObject({ code: "unavailable" });
    await expect(read(db)).rejects.toMatchObject({ code: "unavailable" });
    relay.thaw();
  });

  it("leave nothing behind after many callers abort", async () => {
    const db = open(longMs);
    await Promise.all([read(db), read(db)]);
    relay.freeze();
    const calls = Array.from({ length: 100 }, (_, i) => {
      const leaving = new AbortController();
      return { leaving, call: failure(i % 2 === 0 ? read(db, leaving.signal) : add(db, 1, leaving.signal)) };
    });
    for (const { leaving } of calls) leaving.abort(new Error("given up"));
    for (const { call } of calls) expect(await call).toMatchObject({ message: "given up" });
    relay.thaw();
    await untilDone(() => read(db));
    await waitUntil("no call to be left", () => db.load.inUse === 0 && db.load.waiting === 0);
    expect(await numberAt(1)).toBe(0);
    await db.close();
  });
});

describe("a connection that freezes in the middle of a call", () => {
  it("fails the call within its time limit, and the next ones work", async () => {
    const cases: [text: string, when: Cut, happened: number][] = [
      ["UPDATE", "before", 0],
      ["UPDATE", "after", 0],
      ["COMMIT", "before", 0],
      ["COMMIT", "after", 1],
    ];
    // All at once, as each waits for its time limit. Each has a row and a proxy of its own.
    const endings = cases.map(async ([text, when, happened], index) => {
      const id = index + 1;
      const name = `${text}, ${when} the server receives it`;
      const proxy = await startCuttingProxy(test.config);
      const db = new Database({ address: proxy.config, connections: 2, timeoutMs });
      await untilDone(() => add(db, id));
      const before = (await numberAt(id)) as number;
      proxy.cutAtText(text, when, "freeze");
      const error = await failure(
        // The comment makes the text new to the connection, so that it is sent, and prepared, again.
        db.transaction(never, (tx) => tx.run(`UPDATE t SET n = n + 1 WHERE id = ${id} /* ${when} */`, [])),
      );
      expect(proxy.wasCut(), name).toBe(true);
      expect(error, name).toMatchObject(unavailable);
      if (text === "COMMIT") expect((error as Error).message).toContain("did not say whether this call took effect");
      // It may hold its locks until the lost connection is closed.
      let now = before;
      await untilDone(() =>
        db.transaction(never, async (tx) => {
          const [row] = await tx.rows<{ n: number }>("SELECT n FROM t WHERE id = ? FOR UPDATE", [id]);
          now = row?.n ?? Number.NaN;
        }),
      );
      expect(now - before, name).toBe(happened);
      await db.close();
    });
    await Promise.all(endings);
  });
});

describe("a statement whose caller aborts", () => {
  let db: Database;
  beforeAll(() => {
    db = new Database({ address: test.config, connections: 2, timeoutMs: longMs });
  });
  afterAll(() => db.close());

  it("ends in the server if it is a read", async () => {
    const leaving = new AbortController();
    const call = failure(db.reader(leaving.signal).rows("SELECT SLEEP(100) /* left */"));
    await untilRunning("left");
    leaving.abort(new Error("given up"));
    expect(await call).toMatchObject({ message: "given up" });
    await untilNothingRuns();
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
    expect(await numberAt(1)).toBe(1);
    await lock.release();
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

describe("a call that takes too long", () => {
  let db: Database;
  beforeAll(() => {
    db = new Database({ address: test.config, connections: 2, timeoutMs });
  });
  afterAll(() => db.close());

  it("fails, and its statement ends in the server", async () => {
    const tables = Array.from({ length: 6 }, (_, i) => `information_schema.columns c${i}`).join(", ");
    expect(await failure(db.reader(never).rows(`SELECT COUNT(*) FROM ${tables}`))).toMatchObject(unavailable);
    await untilNothingRuns();
    await untilDone(() => read(db));
  });

  it("fails while it waits for a lock, including retries", async () => {
    const lock = await lockRow(1);
    expect(await failure(add(db))).toMatchObject(unavailable);
    await lock.release();
    await untilDone(() => add(db));
    expect(await numberAt(1)).toBe(1);
  });

  it("has one limit for all its statements", async () => {
    const reader = db.reader(never);
    const endless = async () => {
      for (;;) await reader.rows("SELECT SLEEP(0.1)");
    };
    expect(await failure(endless())).toMatchObject({ code: "unavailable" });
  });

  it("may run for any time without a limit, as in a migration", async () => {
    const unlimited = new Database({ address: test.config, connections: 1, timeoutMs: Number.POSITIVE_INFINITY });
    await unlimited.runDdl(never, "CREATE TABLE u AS SELECT SLEEP(0.1) AS n");
    expect(await unlimited.reader(never).rows("SELECT COUNT(*) AS value FROM u")).toEqual([{ value: 1 }]);
    await unlimited.close();
  });
});
