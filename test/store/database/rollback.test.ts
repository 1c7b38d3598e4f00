// What the pool does when a ROLLBACK fails, and when a caller has left before its turn.
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { Database } from "../../../src/store/database/database.ts";
import { Pool } from "../../../src/store/database/pool/pool.ts";
import { Session } from "../../../src/store/database/pool/session.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";

const never = new AbortController().signal;
let test: TestDatabase;
let db: Database;
beforeEach(async () => {
  test = await createTestDatabase();
  await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
  await test.rows("INSERT INTO t VALUES (1, 0)");
  db = new Database({ address: test.config, connections: 1 });
  const opened = db;
  onTestFinished(() => opened.close());
});

const connectionId = async () => (await db.reader(never).rows<{ id: number }>("SELECT CONNECTION_ID() AS id"))[0]?.id;

/** Holds the only connection until `until` resolves. Returns once it is held. */
async function hold(until: Promise<void>): Promise<{ committed: Promise<void> }> {
  const held = Promise.withResolvers<void>();
  const committed = db.transaction(never, () => {
    held.resolve();
    return until;
  });
  await held.promise;
  return { committed };
}

it("a session whose ROLLBACK failed is not used again, and what it wrote is lost", async () => {
  const before = await connectionId();
  const command = Session.prototype.command;
  const failing = vi.spyOn(Session.prototype, "command").mockImplementation(function (this: Session, sql) {
    return sql === "ROLLBACK" ? Promise.reject(new Error("the server refused")) : command.call(this, sql);
  });
  onTestFinished(() => failing.mockRestore());
  const work = db.transaction(never, async (tx) => {
    await tx.run("UPDATE t SET n = 7 WHERE id = 1");
    throw new Error("the work failed");
  });
  await expect(work).rejects.toThrow("the work failed");
  expect(failing.mock.calls.filter(([sql]) => sql === "ROLLBACK")).toHaveLength(1);
  // Would commit the change if it ran in the same session.
  await db.transaction(never, (tx) => tx.rows("SELECT 1"));
  expect(await test.rows("SELECT n FROM t")).toEqual([{ n: 0 }]);
  expect(await connectionId()).not.toBe(before);
  expect(db.load).toEqual({ inUse: 0, waiting: 0 });
});

it("a read that is queued does not run once its caller has left, and the next one in the queue does", async () => {
  const executed = vi.spyOn(Session.prototype, "execute");
  onTestFinished(() => executed.mockRestore());
  const leaving = new AbortController();
  const ended = Promise.withResolvers<void>();
  const holding = await hold(ended.promise);
  const left = db.reader(leaving.signal).rows("SELECT 'left' AS who");
  const stays = db.reader(never).rows("SELECT 'stays' AS who");
  const outcome = expect(left).rejects.toThrow("given up");
  // The caller leaves just after the connection was given to it.
  const { release } = Pool.prototype;
  const released = vi.spyOn(Pool.prototype, "release").mockImplementation(function (this: Pool, ...args) {
    release.apply(this, args);
    leaving.abort(new Error("given up"));
  });
  onTestFinished(() => released.mockRestore());
  ended.resolve();
  await holding.committed;
  await outcome;
  expect(await stays).toEqual([{ who: "stays" }]);
  expect(executed.mock.calls.map(([sql]) => sql)).toEqual(["SELECT 'stays' AS who"]);
  expect(db.load).toEqual({ inUse: 0, waiting: 0 });
});

it("a read that waits leaves the queue as soon as its caller does", async () => {
  const leaving = new AbortController();
  const ended = Promise.withResolvers<void>();
  const holding = await hold(ended.promise);
  const left = expect(db.reader(leaving.signal).rows("SELECT 1")).rejects.toThrow("given up");
  expect(db.load.waiting).toBe(1);
  leaving.abort(new Error("given up"));
  await left;
  expect(db.load.waiting).toBe(0);
  ended.resolve();
  await holding.committed;
});
