// What the tests of deadlines share: a table of four rows, and calls that add to them and read them.
import type { Database } from "../../../src/store/database/database.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { waitUntil } from "../../support/wait.ts";

export const never = new AbortController().signal;
/** Short, where a test waits until it is over. */
export const timeoutMs = 2_000;
/** Longer than any test waits, where the limit must not end a call. */
export const longMs = 110_000;
export const unavailable = { code: "unavailable", retryAfterSeconds: 1 };

/** Creates a database with the table. */
export async function createRows(): Promise<TestDatabase> {
  const test = await createTestDatabase();
  await test.rows("CREATE TABLE t (id INT PRIMARY KEY, n INT NOT NULL) ENGINE=InnoDB");
  await test.rows("INSERT INTO t VALUES (1, 0), (2, 0), (3, 0), (4, 0)");
  return test;
}

/** Sets the rows back. */
export const resetRows = (test: TestDatabase) => test.rows("UPDATE t SET n = 0");

export const numberAt = async (test: TestDatabase, id: number) =>
  (await test.rows<{ n: number }>("SELECT n FROM t WHERE id = ?", [id]))[0]?.n;
export const add = (db: Database, id = 1, signal = never) =>
  db.transaction(signal, (tx) => tx.run("UPDATE t SET n = n + 1 WHERE id = ?", [id]));
export const read = (db: Database, signal = never) => db.reader(signal).rows("SELECT n FROM t WHERE id = 1");

/** Resolves once a call has succeeded. On a busy machine, the short time limit may end some before. */
export const untilDone = (call: () => Promise<unknown>) =>
  waitUntil("a call to succeed", () =>
    call().then(
      () => true,
      () => false,
    ),
  );

/** Expects a promise to reject. Returns the error. */
export async function failure(promise: Promise<unknown>): Promise<unknown> {
  return promise.then(
    (value) => {
      throw new Error(`it gave ${JSON.stringify(value)}`);
    },
    (error) => error,
  );
}
