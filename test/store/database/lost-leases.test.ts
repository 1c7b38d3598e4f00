// A caller that has lost its connection leaves the next user of that connection alone.
import { beforeEach, expect, it, onTestFinished } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import type { Queryable } from "../../../src/store/database/queryable.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { startGaleraRelay } from "../../support/galera-relay.ts";
import { waitUntil } from "../../support/wait.ts";

const never = new AbortController().signal;

const test = await createTestDatabase();
await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
/** On a cluster, work that reads from one server keeps its connection. */
const galera = await startGaleraRelay(test.config);

beforeEach(() => test.rows("REPLACE INTO t VALUES (1, 0)"));

/** A database with one connection for reads and one for transactions. */
async function open(address: TestDatabase["config"]): Promise<Database> {
  const db = new Database({ address, connections: 2, timeoutMs: 110_000 });
  onTestFinished(() => db.close());
  // From the first connection on it is known whether this is a cluster.
  await db.reader(never).rows("SELECT 1");
  return db;
}

it.each(["work on one server", "a transaction"])(
  "%s that ends late does not end what has its connection now",
  async (kind) => {
    const db = await open(kind === "a transaction" ? test.config : galera.config);
    const use = (signal: AbortSignal, work: (statement: Queryable["rows"]) => Promise<void>) =>
      kind === "a transaction"
        ? db.transaction(signal, (tx) => work(tx.rows.bind(tx)))
        : db.onOneServer(signal, (reader) => work(reader.rows.bind(reader)));
    const [endLate, endOther] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const leaving = new AbortController();
    const late = use(leaving.signal, async (rows) => {
      try {
        await rows("SELECT SLEEP(100) /* given up */");
      } finally {
        await endLate.promise;
      }
    });
    const failed = expect(late).rejects.toThrow("given up");
    await waitUntil("the statement to run", async () => {
      const running = await test.rows<{ Info: string | null }>("SHOW FULL PROCESSLIST");
      return running.some(({ Info }) => Info?.includes("SLEEP(100) /* given up */") ?? false);
    });
    leaving.abort(new Error("given up"));
    const order: string[] = [];
    const begun = Promise.withResolvers<void>();
    const other = use(never, async (rows) => {
      await rows("UPDATE t SET n = n + 1 WHERE id = 1");
      begun.resolve();
      await endOther.promise;
      // Nobody has rolled it back.
      expect(await rows("SELECT n FROM t WHERE id = 1")).toEqual([{ n: 1 }]);
      order.push("other");
    });
    await begun.promise;
    // The late work ends while the other has the only connection.
    endLate.resolve();
    await failed;
    const next = use(never, async (rows) => {
      await rows("SELECT 1");
      order.push("next");
    });
    await waitUntil("the next to wait", () => db.load.waiting === 1);
    endOther.resolve();
    await Promise.all([other, next]);
    expect(order).toEqual(["other", "next"]);
    expect(db.load).toEqual({ inUse: 0, waiting: 0 });
  },
);

it("work on one server fails as unavailable when no server can be reached", async () => {
  const db = await open(galera.config);
  await galera.close();
  await expect(db.onOneServer(never, (reader) => reader.rows("SELECT 1"))).rejects.toMatchObject({
    code: "unavailable",
  });
});
