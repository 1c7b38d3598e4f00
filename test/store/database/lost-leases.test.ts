// A caller whose session was taken away, and lent to another call, leaves that call alone.
import { beforeAll, beforeEach, expect, it, onTestFinished } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import type { Tx } from "../../../src/store/database/queryable.ts";
import { startCuttingProxy } from "../../support/cutting-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { waitUntil } from "../../support/wait.ts";

const never = new AbortController().signal;
let test: TestDatabase;
let others: { host: string; port: number }[];
let address: TestDatabase["config"];

beforeAll(async () => {
  test = await createTestDatabase();
  await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
  const [one, other] = [await startCuttingProxy(test.config), await startCuttingProxy(test.config)];
  others = [{ host: "127.0.0.1", port: other.config.port as number }];
  address = one.config;
});

beforeEach(() => test.rows("REPLACE INTO t VALUES (1, 0)"));

function open(): Database {
  const db = new Database({ address: { ...address, others }, connections: 1, timeoutMs: 110_000 });
  onTestFinished(() => db.close());
  return db;
}

/** A transaction that has changed a row, and goes on when the test says so. It rolls back at its end. */
function startOther(db: Database) {
  const [changed, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const seen: unknown[] = [];
  const ended = db.transaction(never, async (tx: Tx) => {
    await tx.run("UPDATE t SET n = n + 1 WHERE id = 1");
    changed.resolve();
    await goOn.promise;
    seen.push(...(await tx.rows("SELECT n FROM t WHERE id = 1")));
    throw new Error("rolls back");
  });
  return { changed: changed.promise, goOn: goOn.resolve, seen, ended };
}

/** Runs work that takes some time to end after its statement was given up, while another transaction has the session. */
async function loseSession(
  db: Database,
  begin: (work: (statement: Tx["rows"]) => Promise<void>) => Promise<unknown>,
  abort: () => void,
) {
  const end = Promise.withResolvers<void>();
  const late = begin(async (rows) => {
    const statement = rows("SELECT SLEEP(100) /* given up */");
    void waitUntil("the statement to run", async () => {
      const running = await test.rows<{ Info: string | null }>("SHOW FULL PROCESSLIST");
      return running.some(({ Info }) => Info?.includes("SLEEP(100) /* given up */") ?? false);
    }).then(abort);
    try {
      await statement;
    } finally {
      await end.promise;
    }
  });
  const failed = expect(late).rejects.toThrow("given up");
  const other = startOther(db);
  await other.changed;
  end.resolve();
  await failed;
  // It waits for the only session, unless the late work has given that back.
  const read = db.reader(never).rows("SELECT n FROM t WHERE id = 1");
  await test.rows("SELECT 1");
  other.goOn();
  await expect(other.ended).rejects.toThrow("rolls back");
  expect(other.seen).toEqual([{ n: 1 }]);
  expect(await read).toEqual([{ n: 0 }]);
  expect(db.load).toEqual({ inUse: 0, waiting: 0 });
}

it.each(["work on one server", "a transaction"])(
  "%s that ends late does not end what has its session now",
  async (kind) => {
    const db = open();
    const leaving = new AbortController();
    await loseSession(
      db,
      (work) =>
        kind === "a transaction"
          ? db.transaction(leaving.signal, (tx) => work((sql) => tx.rows(sql)))
          : db.onOneServer(leaving.signal, (reader) => work((sql) => reader.rows(sql))),
      () => leaving.abort(new Error("given up")),
    );
  },
);

it("work on one server fails as unavailable when no server can be reached", async () => {
  const gone = { ...address, port: 1, others: [{ host: "127.0.0.1", port: 2 }] };
  const db = new Database({ address: gone, connections: 1 });
  onTestFinished(() => db.close());
  await expect(db.onOneServer(never, (reader) => reader.rows("SELECT 1"))).rejects.toMatchObject({
    code: "unavailable",
  });
});
